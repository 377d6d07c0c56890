// The same bits from every instruction set this CPU has.
#include "assay/metric/tile_kernels.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace assay::tile {
namespace {

struct Sample {
  std::vector<float> a, b;
  std::vector<double> wide_a, wide_b;
};

Sample sample(size_t n, unsigned seed) {
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

std::vector<unsigned char> all_results(const Sample& s, size_t shift) {
  std::vector<unsigned char> out;
  const float* a = s.a.data() + shift;
  const float* b = s.b.data() + shift;
  const auto n = static_cast<int64_t>(s.a.size() - shift);
  for (const Wanted wanted :
       {Wanted{false, false, false}, Wanted{false, true, false}, Wanted{true, true, true}}) {
    const Measured m = measure(a, b, n, wanted);
    append(out, m.core);
    append(out, m.ulp);
  }
  append(out, measure(s.wide_a.data() + shift, s.wide_b.data() + shift, nullptr, n));
  append(out, relative(a, b, n));
  append(out, relative(s.wide_a.data() + shift, s.wide_b.data() + shift, nullptr, n));
  for (const DType type : {DType::f16, DType::f32}) {
    // The pass in f16 wants values that f16 has.
    std::vector<float> half_a(a, a + n), half_b(b, b + n);
    for (auto* side : {&half_a, &half_b})
      for (float& x : *side)
        if (type == DType::f16) x = f16_to_f32(f32_to_f16(std::clamp(x, -6e4f, 6e4f)));
    for (const double add : {0.0, 0x1p-23, 0x1p-10})
      for (const DType sum_type : {DType::f16, type}) {
        const MsprobeErrors errors =
            msprobe_errors(half_a.data(), half_b.data(), n, {type, sum_type, add, add});
        append(out, std::isnan(errors.max) ? -1.0 : errors.max);
        append(out, errors.under_1e3);
        append(out, errors.under_5e3);
      }
  }
  for (const DType sum_type : {DType::f16, DType::f32, DType::f64})
    append(out, msprobe_errors(s.wide_a.data() + shift, s.wide_b.data() + shift, n,
                               {DType::f64, sum_type, 0x1p-23, 0x1p-52}));
  append(out, softmax(a, b, n, 1e12, 1e12));
  append(out, softmax(s.wide_a.data() + shift, s.wide_b.data() + shift, n, 1e10, 1e10));
  std::vector<uint16_t> half(s.a.size()), other(s.a.size());
  narrow_to_f16(a, n, half.data());
  for (const uint16_t bits : half) append(out, bits);
  narrow_to_bf16(a, n, half.data());
  for (const uint16_t bits : half) append(out, bits);
  narrow_to_bf16(b, n, other.data());
  const Patterns16 patterns = patterns16(half.data(), other.data(), n);
  append(out, patterns.ulp);
  append(out, patterns.equal);
  for (const uint16_t bits : {patterns.min_a, patterns.max_a, patterns.min_b, patterns.max_b})
    append(out, bits);
  return out;
}

TEST(TileKernels, EveryTargetGivesTheSameBits) {
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const size_t n : {size_t{1}, size_t{7}, size_t{16}, size_t{33}, size_t{1000}, size_t{kTile}})
    for (const size_t shift : {size_t{0}, size_t{1}}) {
      if (shift >= n) continue;
      const Sample s = sample(n, static_cast<unsigned>(n));
      std::vector<unsigned char> first;
      for (const int64_t target : targets) {
        hwy::SetSupportedTargetsForTest(target);
        const auto results = all_results(s, shift);
        hwy::SetSupportedTargetsForTest(0);
        if (first.empty()) first = results;
        EXPECT_EQ(results, first) << hwy::TargetName(target) << ", " << n << " elements from " << shift;
      }
    }
}

TEST(TileKernels, ExponentialIsRightToFourteenDigits) {
  for (double x = 0; x > -700; x = x * 1.01 - 0.0007) {
    const double wanted = static_cast<double>(std::exp(static_cast<long double>(x)));
    EXPECT_NEAR(exp_nonpositive(x), wanted, wanted * 2e-14) << x;
  }
  EXPECT_LT(exp_nonpositive(-1e30), 1e-300);
}

TEST(TileKernels, AnyNonFiniteElementShowsInTheSquares) {
  std::vector<float> a(100, 1.0f), b(100, 1.0f);
  for (size_t i = 0; i < a.size(); ++i)
    for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      auto broken = a;
      broken[i] = bad;
      EXPECT_FALSE(std::isfinite(measure(broken.data(), b.data(), 100, {}).core.aa));
      EXPECT_FALSE(std::isfinite(measure(a.data(), broken.data(), 100, {}).core.bb));
    }
}

TEST(TileKernels, UlpSumsDoNotRunOver) {
  const std::vector<float> a(kTile, 3e38f), b(kTile, -3e38f);
  const Measured m = measure(a.data(), b.data(), kTile, {false, true, false});
  EXPECT_GT(m.ulp.max, uint64_t{1} << 31);
  EXPECT_EQ(m.ulp.sum, static_cast<double>(m.ulp.max) * static_cast<double>(kTile));
}

}  // namespace
}  // namespace assay::tile
