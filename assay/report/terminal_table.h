// Text in columns of a terminal.
#pragma once

#include "assay/base/columns.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The text in at most `width` columns: "model.layers.17.…_proj.weight". Precondition: width >= 1.
std::string shorten_middle(std::string_view text, int width);

// A table of at most `width` columns, one line per row. The flexible column gives way first (words that
// all its cells have in common are left out, then they are shortened in the middle), then the columns
// marked optional are left out, the last ones first.
struct TerminalColumn {
  std::string title;
  std::vector<std::string> cells = {};  // one per row
  bool right_aligned = false;
  bool optional = false;
  bool flexible = false;                  // exactly one column
  std::vector<std::string> colours = {};  // escape sequence per row, or nothing at all
};
std::string terminal_table(std::vector<TerminalColumn> columns, int width);

inline constexpr int kGap = 2;  // between columns
int column_width(const TerminalColumn& column);

// What all names have in common tells none of them from the others: "…" stands for it. The word before a
// number that differs is kept, "…layers.7…", unless there is no room for it: "…7…".
enum class NumberWords : uint8_t { kept, left_out };
void leave_out_common_words(std::vector<std::string>& names, NumberWords number_words = NumberWords::kept);

inline constexpr std::string_view kResetColour = "\x1b[0m";

}  // namespace assay
