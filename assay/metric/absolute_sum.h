// The sum of the sizes of n numbers, in f64: sixteen lanes, so that the order does not depend on the CPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace assay {

template <class T>
double absolute_sum(const T* values, int64_t n) {
  constexpr size_t kLanes = 16;
  std::array<double, kLanes> lanes = {};
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kLanes) <= n; i += static_cast<int64_t>(kLanes))
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += std::abs(static_cast<double>(values[i + static_cast<int64_t>(lane)]));
  for (size_t lane = 0; i < n; ++i, ++lane) lanes[lane] += std::abs(static_cast<double>(values[i]));
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  return lanes[0];
}

}  // namespace assay
