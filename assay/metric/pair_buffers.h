// What the files of PairGatherer share.
#pragma once

#include "assay/metric/pair_gatherer.h"

namespace assay {

using tile::kTile;

// Of one tile.
struct PairBuffers {
  alignas(64) float a[kTile], b[kTile];
  alignas(64) float clean_a[kTile], clean_b[kTile], sizes[kTile];
  alignas(64) double wide_a[kTile], wide_b[kTile], d[kTile];
  alignas(64) double clean_wide_a[kTile], clean_wide_b[kTile];
  alignas(64) uint32_t pattern_a[kTile], pattern_b[kTile];
  alignas(64) std::byte raw_a[kTile * 8], raw_b[kTile * 8];
  bool finite[kTile];
};

// A bit pattern of the type orders like its value once the sign is taken care of.
inline bool is_sign_magnitude16(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

inline bool is_aligned(const std::byte* at, size_t to) { return reinterpret_cast<uintptr_t>(at) % to == 0; }

}  // namespace assay
