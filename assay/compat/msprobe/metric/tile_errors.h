// |(a - b) / b| of one tile as numpy computes it, with every operation rounded to one type: a SIMD pass like
// those of metric/tile_kernels.h. Where b is 0, something small is added to both sides first.
#pragma once

#include "assay/tensor/dtype.h"

#include <cstdint>

namespace assay::tile {

struct MsprobeRule {
  DType type = DType::f32;      // f16, f32 or f64: what a - b and the quotient are rounded to
  DType sum_type = DType::f32;  // what a + add_a is rounded to; not wider than `type`
  double add_a = 0, add_b = 0;  // in the types of the two sides; where add_b is 0 quotients are Inf or NaN
};
struct MsprobeErrors {
  double max = 0;  // NaN if any of them is
  int64_t under_1e3 = 0, under_5e3 = 0;
};
MsprobeErrors msprobe_errors(const float* a, const float* b, int64_t n, const MsprobeRule& rule);  // f16, f32
MsprobeErrors msprobe_errors(const double* a, const double* b, int64_t n, const MsprobeRule& rule);  // f64

}  // namespace assay::tile
