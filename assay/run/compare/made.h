// One side of a pair as its plan makes it, on every rank.
#pragma once

#include "assay/model/plan.h"
#include "assay/run/compare/align.h"
#include "assay/run/compare/rope.h"
#include "assay/tensor/expected.h"

namespace assay {

struct Made {
  // One tensor, or several that stand behind each other; not joined yet, since the other side decides in
  // which order: each of its ranks may hold a share of every part.
  std::vector<Spread> parts;
  int64_t dimension = kLastDimension;  // along which they stand behind each other
  bool is_weight = false;              // ranks may share it out along either dimension
  bool may_be_transposed = false, is_transposed = false;
  bool adds_ranks = false;                        // the ranks hold terms of a sum
  bool is_angles = false;                         // of which the other side may hold every one twice
  PositionsTaken positions = {};                  // of a table of angles
  std::shared_ptr<const Spread> quantised;        // as the dump has it, where it was made real
  std::shared_ptr<const Expected> expected = {};  // where an operator was run, which gives a bound too

  const OperandPtr& own() const { return parts.front().own; }
  size_t ranks() const;  // that hold it, or a share of it
  // What one rank holds, by itself. An error where it lacks a part.
  Result<Made> at_rank(size_t rank) const;
};

// A side that was made real before the type of the other one was known, as the dump has it: where that holds
// whole numbers, too.
void leave_whole_numbers(Made& made, const Made& other);

// Both sides as they can be compared. Nothing where the shapes do not fit; an error where a shard cannot be
// read.
Result<std::optional<Aligned>> align(const Made& mine, const Made& golden, const AlignRules& rules);

}  // namespace assay
