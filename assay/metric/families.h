// The metrics, grouped by what they are made of. Definitions with formulas: docs/metrics.md
#pragma once

#include "assay/metric/metric.h"

namespace assay {

// similarity.cc: of the two vectors as a whole
extern const Metric cosine_metric, rel_l2_metric, rel_l2_squared_metric, l1_metric, l2_metric, sqnr_metric,
    kl_metric;
// rest.cc: of the elements that others drown
extern const Metric rel_l2_rest_metric;
// error.cc: element by element
extern const Metric max_abs_metric, mean_abs_metric, bias_metric, max_rel_metric, mean_rel_metric,
    not_close_metric, abs_quantiles_metric, worst_metric;
// arg_max.cc: what logits choose
extern const Metric arg_max_metric;
// ulp.cc: in units of the last place
extern const Metric ulp_max_metric, ulp_mean_metric, ulp_p99_metric;
// sides.cc: what each side is by itself, and exact agreement
extern const Metric equal_metric, nonfinite_metric, mine_metric, golden_metric, golden_rms_metric,
    crc32_metric, md5_metric;
// bounded.cc: against what an operator should have given
extern const Metric bound_metric;
// stated.cc: of what two dumps say
extern const Metric stat_diff_metric, checksum_metric;

// A number, or an absent value where it is not defined.
Value number_or_absent(double value, bool defined);

}  // namespace assay
