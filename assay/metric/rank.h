// Places on the number line of the types with at most 8 bits, whose patterns do not order by themselves
// (hifloat8, e8m0).
#pragma once

#include "assay/tensor/dtype.h"

#include <array>

namespace assay {

using RankTable =
    std::array<int, 256>;  // by bit pattern; equal values (+0, -0) share a place; NaN stands behind all

const RankTable& rank_table(DType dtype);

}  // namespace assay
