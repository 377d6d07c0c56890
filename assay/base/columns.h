// How wide text is on a terminal, and how it is broken into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct ShownCharacter {
  size_t size;  // bytes
  int width;    // columns
};
std::vector<ShownCharacter> characters(std::string_view text);  // of valid UTF-8 without control characters

// Columns that such a text takes: 2 for East Asian wide characters and emoji, 0 for combining marks.
int display_width(std::string_view text);

// The text in lines of at most `width` columns, broken behind a semicolon, or else at blanks; `indent` before
// each, two more before those that go on. A word that is longer has a line of its own.
std::string wrapped(std::string_view text, int width, int indent);

}  // namespace assay
