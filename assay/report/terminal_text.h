// Pieces of the terminal report that are made of numbers and text alone.
#pragma once

#include "assay/base/columns.h"
#include "assay/model/outcome.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::optional<double> number_of(const Value& value);

int text_width(const Head& head);         // columns there are to write in
std::string_view colour_of(Level level);  // an escape sequence
// The answer of the run, in colour where the head allows for it.
std::string sentence_line(const Summary& summary, const Head& head);

// Digits for the eye; the files have them all. What is less than 1 is never shown as 1.
std::string brief(const Value& value);

// A line of the first names of a list behind `what`: where a fault may lie as well.
std::string first_few(std::string_view what, std::span<const std::string> names);

// What a row is called, each name once: most often those of the node and of both sides are the same.
std::string names_of(const RowPlace& place, int width);

// The values of both sides around the worst element, as far as they lie in its row; empty where there is
// nothing to see beside it.
std::string neighbourhood(const Comparison& row, int64_t worst, int width);

// One row of a trend: how far off it is.
struct TrendRow {
  std::string name;
  // Infinite: NaN or infinities stand against something else. NaN: not known.
  double error = 0;
  Level level = Level::pass;
  bool is_marked = false;
};
// Errors as bars on a logarithmic scale, so that one sees them jump.
std::string trend(std::span<const TrendRow> rows, int width);

}  // namespace assay
