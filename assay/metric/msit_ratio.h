// Relative errors in msit's own arithmetic: |m / g - 1| in f32, which is not |m - g| / |g| to the last bits.
#pragma once

#include <cmath>
#include <cstdint>

namespace assay {

struct MsitRatio {
  double max = 0, sum = 0;
};

// Where |golden| <= 2^-23 it is 0. All elements are finite; a quotient that f32 cannot hold is infinite.
template <class T>
MsitRatio msit_ratio(const T* mine, const T* golden, int64_t n) {
  constexpr float kEpsilon = 0x1p-23F;
  constexpr int64_t kLanes = 8;  // so that the compiler need not keep the order of one long sum
  float largest[kLanes] = {};
  double sums[kLanes] = {};
  const auto add = [&](int64_t i, int64_t lane) {
    const auto g = static_cast<float>(golden[i]), m = static_cast<float>(mine[i]);
    const bool counts = std::abs(g) > kEpsilon;
    const float r = counts ? std::abs(m / (counts ? g : 1.0F) - 1.0F) : 0.0F;
    largest[lane] = r > largest[lane] ? r : largest[lane];
    sums[lane] += static_cast<double>(r);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
  MsitRatio out;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (static_cast<double>(largest[lane]) > out.max) out.max = static_cast<double>(largest[lane]);
    out.sum += sums[lane];
  }
  return out;
}

}  // namespace assay
