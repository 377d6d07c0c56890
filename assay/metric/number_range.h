// The numbers of one tensor in one pass: how many are not finite, and how many close to the ends of the type.
#pragma once

#include "assay/base/result.h"
#include "assay/metric/metric.h"
#include "assay/model/number_range.h"

namespace assay {

// Of the elements [first, first + count).
Result<NumberRange> gather_range(const Operand& operand, int64_t first, int64_t count, Scratch& scratch);

// What is told of tensors that stand by themselves: not among the metrics of pairs.
MetricTable range_metrics();

}  // namespace assay
