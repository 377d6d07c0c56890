// Statistics of each side by itself, beside what the pair gives.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/model/outcome.h"

namespace assay {

// SideFacts::measured: in the tensor's own type, or as if it were f32.
enum class SideStatistics : uint8_t { none, own_type, as_f32 };

// Unless the pass over the pair has given them already. Tensors without a partner are not read for a table of
// pairs.
void add_statistics_as_f32(const OperandPtr& data, SideFacts& side, Comparison& row);

// Where all elements of both are finite, what the pair was measured on is all of each side.
void take_statistics_as_f32(const PairSums& pair, Comparison& row);

}  // namespace assay
