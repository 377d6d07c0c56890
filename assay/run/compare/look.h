// A tensor that stands by itself: what its numbers are.
#pragma once

#include "assay/metric/metric.h"
#include "assay/model/outcome.h"
#include "assay/support/progress.h"

namespace assay {

// data: null where the dump has none; then its statistics are asked.
void look_at(const OperandPtr& data, const MetricPlan& metrics, Progress& progress, Comparison& row);

}  // namespace assay
