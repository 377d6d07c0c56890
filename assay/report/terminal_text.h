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

// Digits for the eye; the files have them all. What is less than 1 is never shown as 1.
std::string brief(const Value& value);

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
