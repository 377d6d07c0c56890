// How the generations of msprobe compute relative errors. What is special about each: docs/metrics.md
#pragma once

#include "assay/metric/tile_kernels.h"

namespace assay {

// G1: msprobe 1.1; G2: 8.3; G3: 26.0. Their numbers are the places in Gathered::msprobe.
enum class MsprobeGeneration : uint8_t { g1, g2, g3 };

// `mine`, `golden`: the types as they were dumped.
tile::MsprobeRule msprobe_rule(MsprobeGeneration generation, DType mine, DType golden);

}  // namespace assay
