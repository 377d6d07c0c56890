// Metrics as msit defines them: docs/metrics.md
#pragma once

#include "assay/metric/metric.h"

namespace assay {

extern const Metric msit_metric;                                 // errors.cc
extern const Metric msit_similarity_metric, msit_stated_metric;  // similarity.cc
extern const Metric logits_metric;                               // logits.cc
extern const Metric opcheck_metric;                              // opcheck.cc

MetricTable msit_metrics();

}  // namespace assay
