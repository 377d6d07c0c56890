// Looks closely at one pair: pictures and a diagnosis.
#pragma once

#include "assay/metric/band.h"
#include "assay/model/detail.h"
#include "assay/model/outcome.h"
#include "assay/support/progress.h"

#include <functional>

namespace assay {

struct DetailOptions {
  // Dimensions of the block map, counted from the front; -1: the last two. All others are reduced: cut a part
  // out of the operands to look at one place in them.
  int map_rows = -1, map_columns = -1;
  // Of a row: a part of both sides, as they were laid alike. Empty: all of them.
  std::function<Result<OperandPtr>(OperandPtr)> slice = {};
};

// What the common pass has to have gathered for that.
inline constexpr GatherMask kSumsOfDetail = gather::sums | gather::means;

// On all cores; the same bits on any number of them. Two passes: the common one for sums and extremes, unless
// its outcome of the very same two is given, and one for the pictures; a diagnosis that speaks of a
// rearrangement is checked in a further one. Both operands have the same shape, and both or neither are
// complex.
Result<Detail> look_closely(const Operand& mine, const Operand& golden, const DetailOptions& options,
                            PairScratch& scratch, Progress& progress, const PairSums* known = nullptr);

// How many rows a run looks at closely, and what it reads for them, in report order: the rest has no detail.
struct DetailBudget {
  int64_t rows = 0;         // 0: none at all
  int64_t bytes = 0;        // the row that goes beyond is the last
  bool only_failed = true;  // of what differs; else all of it
  // Beside these, for pictures: the worst of what passes. A row is in for it where it is worse than all that
  // were before it, and clearly so where it is large, or many were taken: a slow rise does not use up all.
  int64_t passing_rows = 0, passing_bytes = 0;
  double worst_passing = 0;  // relative error of the last that was taken

  // Whether this row is in for one; takes its share. relative: its error as rel_l2; NaN: not known.
  bool take(const Comparison& row, double relative);

 private:
  bool take_passing(const Comparison& row, double relative);
};

// Enough for whoever reads a report, and no more than a second or two on top of a run in which all fails.
inline constexpr DetailBudget kUsualDetails = {.rows = 200, .bytes = int64_t{2} << 30};
// … of what passes, where a page shows it.
inline constexpr int64_t kPassingDetails = 64, kPassingBytes = int64_t{256} << 20;

}  // namespace assay
