// For tests: what names of files, tensors and operators may hold to mislead whoever looks at a terminal or a
// report. tests/tools/check_screen.py has the same list for the whole program.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace assay {

inline constexpr std::array<std::string_view, 40> kHostileTexts = {
    "\x1b[31m",          // colour
    "\x1b]0;title\x07",  // title of the window
    "\x1b[2J",           // clears the screen
    "\a",                // bell
    "\b",                // backspace
    "\r",                // overwrites the line
    "\v",                // vertical tab
    "\x7f",              // delete
    "\xc2\x80",          // U+0080, the first C1 control
    "\xc2\x85",          // U+0085, next line
    "\xc2\x9b",          // U+009B, as ESC [
    "\xc2\x9d",          // U+009D, as ESC ]
    "\xc2\x9f",          // U+009F, the last one
    "\x9b",              // the same as a byte that is no UTF-8
    "\x85",              //
    "\xff",              // never part of UTF-8
    "\xc0\x9b",          // overlong ESC
    "\xe0\x82\x9b",      // overlong U+009B
    "\xed\xa0\x80",      // half a surrogate pair
    "\xf4\x90\x80\x80",  // beyond U+10FFFF
    "\xd8\x9c",          // U+061C, Arabic letter mark
    "\xe2\x80\x8b",      // U+200B, zero width space
    "\xe2\x80\x8d",      // U+200D, joiner, behind ASCII
    "\xe2\x80\x8e",      // U+200E, left to right
    "\xe2\x80\x8f",      // U+200F, right to left
    "\xe2\x80\xa8",      // U+2028, line separator
    "\xe2\x80\xa9",      // U+2029, paragraph separator
    "\xe2\x80\xaa",      // U+202A, embedding
    "\xe2\x80\xae",      // U+202E, override
    "\xe2\x81\xa0",      // U+2060, word joiner
    "\xe2\x81\xa6",      // U+2066, isolate
    "\xe2\x81\xa9",      // U+2069, end of it
    "\xef\xb8\x8f",      // U+FE0F, variation selector, behind ASCII
    "\xef\xbb\xbf",      // U+FEFF, byte order mark
    "\xef\xbf\xb9",      // U+FFF9, annotation
    "\xef\xbf\xbf",      // U+FFFF, no character
    "\xf0\x9f\xbf\xbe",  // U+1FFFE, no character
    "\xf3\xa0\x80\x81",  // U+E0001, language tag
    "\xf3\xa0\x81\x81",  // U+E0041, tag of A
    "\xf3\xa0\x84\x80",  // U+E0100, variation selector
};

// One name with all of it, each between letters.
inline std::string hostile_name() {
  std::string name = "n";
  for (const std::string_view text : kHostileTexts) name.append(text) += 'n';
  return name;
}

// The first of them that stands in a text between letters, as hostile_name() has it; empty if none does.
inline std::string_view hostile_part(std::string_view text) {
  for (const std::string_view part : kHostileTexts)
    if (text.find("n" + std::string(part) + "n") != std::string_view::npos) return part;
  return {};
}

}  // namespace assay
