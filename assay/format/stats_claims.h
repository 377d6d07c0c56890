// Whether a tensor can have the statistics that took its place. Those of `assay compact` are exact, so that
// little is left to doubt; what other tools print is asked less (model/number_range.h).
#pragma once

#include "assay/model/value.h"
#include "assay/tensor/operand.h"

#include <string>

namespace assay {

// Why none of this type and shape can: a mean above the largest element, zeros beside a positive smallest
// one, a NaN that the maximum does not show. zeros: how many elements are 0, -1: not said. Empty: one can, as
// far as they tell.
std::string contradiction_of_statistics(const TensorMeta& meta, const Stats& stats, int64_t zeros);

}  // namespace assay
