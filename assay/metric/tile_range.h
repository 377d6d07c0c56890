// Where the numbers of a tile lie in the range of their type, told from their bits. Exact, so that every CPU
// gives the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::tile {

inline constexpr int64_t kRangeTile = 4096;  // few enough to be counted in 16 bits

struct RangeCounts {
  int64_t nans = 0, infs = 0, minus_infs = 0;
  int64_t near_max = 0, subnormal = 0, zeros = 0;
  // Bits of the finite numbers, those of negative ones turned round so that all are ordered.
  int64_t smallest = INT64_MAX, largest = INT64_MIN;
};

// Of IEEE types with a sign, of 2, 4 or 8 bytes. n is at most kRangeTile; no alignment needed.
RangeCounts count_range(const std::byte* data, int64_t n, int64_t bytes, int mantissa_bits);

}  // namespace assay::tile
