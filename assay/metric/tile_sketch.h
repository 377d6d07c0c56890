// What a sketch adds up of a tile, on vectors; see tile_kernels.h.
#pragma once

#include "assay/metric/tile_kernels.h"

namespace assay::tile {

inline constexpr int64_t kSketchLanes = 64;

// Of the finite elements. Every eighth goes to one of the eight sums; whoever adds those up takes them one
// after another. Products are not fused.
struct SketchSums {
  double sum[8], absolutes[8], squares[8];
};

// n: a multiple of kSketchLanes. x[0] has lane 0, and its sign is the first of `word`.
SketchSums sketch_sums(const double* x, int64_t n, uint64_t word, double* signed_sums);

}  // namespace assay::tile
