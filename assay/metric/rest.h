// What drowns beside large elements: the fill of a mask, or one massive activation, makes the norm in which
// the errors of all others are measured.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/metric/tile_kernels.h"

namespace assay {

// One tile, of which `finite` pairs count; the others are zero on both sides. d: as tile::measure has it.
// Only tiles with a large element are looked at once more.
void add_rest(const float* a, const float* b, int64_t n, int64_t finite, const tile::Core& core,
              PairSums& sums);
void add_rest(const double* a, const double* b, const double* d, int64_t n, int64_t finite,
              const tile::Core& core, PairSums& sums);

}  // namespace assay
