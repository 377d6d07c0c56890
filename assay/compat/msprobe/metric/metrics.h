// Metrics as msprobe defines them: docs/metrics.md
#pragma once

#include "assay/metric/metric.h"

namespace assay {

// errors.cc
extern const Metric msprobe_metric, msprobe_g1_metric, msprobe_g2_metric, msprobe_g3_metric,
    msprobe_kernel_metric, msprobe_kernel_g1_metric, msprobe_cosine_metric, nonfinite_kinds_metric;
// stated.cc
extern const Metric stat_diff_g2_metric, stat_diff_g3_metric;

MetricTable msprobe_metrics();

}  // namespace assay
