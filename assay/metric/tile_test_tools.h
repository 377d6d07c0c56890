// For tests that hold what every instruction set of this CPU gives against the others.
#pragma once

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace assay::tile::testing {

struct Sample {
  std::vector<float> a, b;
  std::vector<double> wide_a, wide_b;
};

inline Sample sample(size_t n, unsigned seed) {
  Sample s;
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < n; ++i) {
    s.b.push_back(normal(engine) * std::exp2(static_cast<float>(engine() % 60) - 30));
    s.a.push_back(s.b.back() * (1 + normal(engine) * 1e-3f));
    if (engine() % 50 == 0) s.b.back() = 0;
  }
  s.wide_a.assign(s.a.begin(), s.a.end());
  s.wide_b.assign(s.b.begin(), s.b.end());
  for (double& x : s.wide_a) x *= 1 + 1e-12;  // bits that a float does not have
  return s;
}

template <class T>
void append(std::vector<unsigned char>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// results(sample, shift) as bytes: the same bits from every target, at awkward lengths and places.
template <class Results>
void expect_same_bits_from_every_target(size_t longest, const Results& results) {
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const size_t n : {size_t{1}, size_t{7}, size_t{16}, size_t{33}, size_t{1000}, longest})
    for (const size_t shift : {size_t{0}, size_t{1}}) {
      if (shift >= n) continue;
      const Sample s = sample(n, static_cast<unsigned>(n));
      std::vector<unsigned char> first;
      for (const int64_t target : targets) {
        hwy::SetSupportedTargetsForTest(target);
        const auto bytes = results(s, shift);
        hwy::SetSupportedTargetsForTest(0);
        if (first.empty()) first = bytes;
        EXPECT_EQ(bytes, first) << hwy::TargetName(target) << ", " << n << " elements from " << shift;
      }
    }
}

}  // namespace assay::tile::testing
