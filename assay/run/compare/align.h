// Makes two tensors that were laid out by different systems comparable element by element: parts on several
// ranks are joined, dimensions merged, a smaller batch repeated.
#pragma once

#include "assay/tensor/operand.h"

#include <functional>
#include <optional>

namespace assay {

// One side: its tensor, and those of the other ranks where there are several.
struct Spread {
  OperandPtr own;
  size_t ranks = 1;                                           // that hold a part, or a copy
  std::function<Result<OperandPtr>(size_t rank)> shard = {};  // of one of them; called only if needed

  Result<OperandPtr> at_rank(size_t rank) const { return ranks == 1 ? Result<OperandPtr>(own) : shard(rank); }
};

struct AlignRules {
  bool merge = false;    // neighbouring dimensions may be taken together: [2, 3, 4] and [6, 4]
  bool flatten = false;  // as many elements are enough
  bool last_row =
      false;            // of logits: a side that holds those of the last position alone stands against these
  bool repeat = false;  // broadcast, or repeat the side whose first dimension divides the other's
};

struct Aligned {
  OperandPtr mine, golden;
  std::string note = {};  // what was done; empty: nothing
  bool is_part = false;   // not all elements of the larger side
  // Put together from what the ranks hold. Otherwise a side of several ranks has a copy on each.
  bool mine_joined = false, golden_joined = false;
};

// Nothing where the shapes do not fit. An error where a shard cannot be read.
Result<std::optional<Aligned>> align(const Spread& mine, const Spread& golden, const AlignRules& rules);

// What the ranks hold, each seen in this shape, behind each other along a dimension.
Result<OperandPtr> join_shards(const Spread& side, size_t axis, const Shape& shape_of_part);

// The view of a tensor under a shape it can be broadcast to by torch's rules; nothing where it cannot.
Result<std::optional<OperandPtr>> broadcast_to(const OperandPtr& source, const Shape& shape);

// [2, 7, 9] seen as its last positions, [2, 9]; nothing where it has other than that many sequences.
Result<std::optional<OperandPtr>> last_rows(const OperandPtr& whole, int64_t rows);

// Seen as rows of the last dimension.
Shape as_rows(const Shape& shape);
// "mine joined from 2 ranks along dimension 1"
std::string joined_note(std::string_view which, size_t ranks, size_t axis);

}  // namespace assay
