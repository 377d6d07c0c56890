// Masks of attention, as tensors and as rules.
#pragma once

#include "assay/golden/attention.h"

#include <memory>

namespace assay {

// A tensor of masks under [samples, heads, rows, columns]; samples, heads and rows may be 1 for all.
struct MaskTensor {
  OperandPtr data;
  int64_t samples = 1, heads = 1, rows = 0, columns = 0;

  // The first `mask.size()` elements of a row, times `factor`. Precondition: has(...).
  Result<void> read(const MaskRow& row, int64_t number, double factor, std::span<double> mask,
                    Scratch& scratch) const;
  bool has(int64_t of_rows, int64_t of_columns) const {
    return (rows == 1 || rows >= of_rows) && columns >= of_columns;
  }
};

// Two dimensions are for all samples and heads; three name samples or heads (heads first where it is
// `by_head`), or both together; four name both. On the 310P, four are blocks of 16 columns.
Result<MaskTensor> mask_tensor(const GoldenCall& call, size_t i, int64_t samples, int64_t heads,
                               bool by_head);

// Keys that follow a query are hidden by `hidden`, the last queries standing beside the last keys. Where a
// window is given, so are those that lie as far before it, or farther. `positions` and `keys` are per sample.
AttentionMask causal_mask(std::vector<int64_t> positions, double hidden, int64_t window);

enum class Alibi : uint8_t { by_distance, by_root, by_key };
// slope of the head times how far the key lies before the query, its root, or times the number of the key.
// The tensor has these factors for the first rows and columns, and what hides keys after the query.
Result<AttentionMask> alibi_mask(const GoldenCall& call, size_t mask, size_t slopes, int64_t heads,
                                 std::vector<int64_t> positions, Alibi kind);

// NZ on the 310P: [n, columns / 16, rows, 16] as [n, rows, columns], in memory where it fits.
Result<OperandPtr> from_blocks(const OperandPtr& stored, size_t leading, int64_t memory);
// In memory, where that takes at most `memory`: rows are read one by one.
Result<OperandPtr> kept_in_memory(OperandPtr data, int64_t memory);

}  // namespace assay
