// The signs that a sketch gives to elements by chance: the same on every machine and for both sides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

inline constexpr size_t kSignGroup = 8;  // signs that one byte of chance gives

// ±1 for each bit of a byte: a product takes less time than to choose.
using SketchSigns = std::array<std::array<double, kSignGroup>, 256>;

constexpr SketchSigns make_sketch_signs() {
  SketchSigns signs{};
  for (size_t byte = 0; byte < signs.size(); ++byte)
    for (size_t bit = 0; bit < kSignGroup; ++bit) signs[byte][bit] = (byte >> bit & 1) != 0 ? -1 : 1;
  return signs;
}
inline constexpr SketchSigns kSketchSigns = make_sketch_signs();

// SplitMix64.
inline uint64_t sketch_chance(uint64_t number) {
  uint64_t x = number + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace assay
