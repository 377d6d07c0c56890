// Errors of one tile as msit computes them, where |b| > 2^-23: both sides become f32 first, and a relative
// error is |a / b - 1|, which is not |a - b| / |b| to the last bits. A SIMD pass like those of
// metric/tile_kernels.h; the lanes are added one after another.
#pragma once

#include <cstdint>

namespace assay::tile {

struct MsitErrors {
  double max_ratio = 0, sum_ratio = 0;  // a quotient that f32 cannot hold is infinite
  double max_size = 0, sum_size = 0;    // |a - b|
};
// At most kTile elements, all of them finite.
MsitErrors msit_errors(const float* a, const float* b, int64_t n);
MsitErrors msit_errors(const double* a, const double* b, int64_t n);

}  // namespace assay::tile
