// Errors in msit's own arithmetic: both sides become f32 first, and a relative error is |m / g - 1|, which is
// not |m - g| / |g| to the last bits.
#pragma once

#include <cmath>
#include <cstdint>

namespace assay {

struct MsitErrors {
  double max_ratio = 0, sum_ratio = 0;
  double max_size = 0, sum_size = 0;  // |m - g|
};

// Where |golden| <= 2^-23 all are 0. All elements are finite; a quotient that f32 cannot hold is infinite.
template <class T>
MsitErrors msit_errors(const T* mine, const T* golden, int64_t n) {
  constexpr float kEpsilon = 0x1p-23F;
  constexpr int64_t kLanes = 8;  // so that the compiler need not keep the order of one long sum
  float largest[kLanes] = {}, farthest[kLanes] = {};
  double ratios[kLanes] = {}, sizes[kLanes] = {};
  const auto add = [&](int64_t i, int64_t lane) {
    const auto g = static_cast<float>(golden[i]), m = static_cast<float>(mine[i]);
    const bool counts = std::abs(g) > kEpsilon;
    const float ratio = counts ? std::abs(m / (counts ? g : 1.0F) - 1.0F) : 0.0F;
    const float size = counts ? std::abs(m - g) : 0.0F;
    largest[lane] = ratio > largest[lane] ? ratio : largest[lane];
    farthest[lane] = size > farthest[lane] ? size : farthest[lane];
    ratios[lane] += static_cast<double>(ratio);
    sizes[lane] += static_cast<double>(size);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
  MsitErrors out;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (static_cast<double>(largest[lane]) > out.max_ratio)
      out.max_ratio = static_cast<double>(largest[lane]);
    if (static_cast<double>(farthest[lane]) > out.max_size)
      out.max_size = static_cast<double>(farthest[lane]);
    out.sum_ratio += ratios[lane];
    out.sum_size += sizes[lane];
  }
  return out;
}

}  // namespace assay
