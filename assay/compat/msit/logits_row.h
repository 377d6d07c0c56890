// A row of a comparison of logits as its rules and its report see it.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

// What passes; the defaults of the original.
struct LogitsLimits {
  double cosine = 0.999, kl = 0.0001, l1 = 0.01;
  DType dtype = DType::f16;  // what the model computed in: f16, bf16 or f32
};

// Places of the metrics in Comparison::metrics, looked up once per section.
struct LogitsColumns {
  explicit LogitsColumns(const Head& head);
  int cosine, kl, l1, mine_max, golden_max;
  int mine_nan, mine_inf, golden_nan, golden_inf;
};

// | largest of golden - largest of mine |, in single precision.
double distance_of_maxima(const Comparison& row, const LogitsColumns& columns);
// One unit in the last place of a number as large as the largest of mine; NaN where that is negative.
double ulp_of_maximum(const Comparison& row, const LogitsColumns& columns, DType dtype);

}  // namespace assay
