// The same bits from every instruction set this CPU has.
#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#include "assay/metric/tile_test_tools.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace assay::tile {
namespace {

using testing::append, testing::Sample;

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
  append(out, rest(a, b, n, 100));
  append(out, rest(a, b, n, {100, 1000}));
  append(out, rest(s.wide_a.data() + shift, s.wide_b.data() + shift, n, 100));
  append(out, rest(s.wide_a.data() + shift, s.wide_b.data() + shift, n, {100, 1000}));
  append(out, softmax(a, b, n, {-1e12, 1e12}, {-1e12, 1e12}));
  append(out, exponentials(a, n, 1e12));
  append(out, exponentials(s.wide_a.data() + shift, n, 1e10));
  append(out, softmax(s.wide_a.data() + shift, s.wide_b.data() + shift, n, {-1e10, 1e10}, {-1e10, 1e10}));
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
  testing::expect_same_bits_from_every_target(kTile, all_results);
}

// Calls `check` with the name of each instruction set that this CPU has.
template <class Check>
void on_every_target(Check check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    ASSERT_STREQ(target_name(), hwy::TargetName(target));
    check(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
  }
}

template <class T>
Rest slow_rest(const T* a, const T* b, int64_t n, double limit) {
  double dd[8] = {}, bb[8] = {};
  Rest out;
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (std::abs(y) >= limit) continue;
    dd[i % 8] += (x - y) * (x - y);
    bb[i % 8] += y * y;
    ++out.count;
  }
  for (size_t lane = 0; lane < 8; ++lane) {
    out.dd += dd[lane];
    out.bb += bb[lane];
  }
  return out;
}

void expect_same(const Rest& found, const Rest& wanted, const char* where) {
  EXPECT_EQ(found.dd, wanted.dd) << where;
  EXPECT_EQ(found.bb, wanted.bb) << where;
  EXPECT_EQ(found.count, wanted.count) << where;
}

template <class T>
void check_rest(const std::vector<T>& all_a, const std::vector<T>& all_b, size_t shift, const char* target) {
  const T *a = all_a.data() + shift, *b = all_b.data() + shift;
  const auto n = static_cast<int64_t>(all_a.size() - shift);
  const auto both = rest(a, b, n, {100, 1000});
  expect_same(both[0], slow_rest(a, b, n, 100), target);
  expect_same(both[1], slow_rest(a, b, n, 1000), target);
  expect_same(rest(a, b, n, 100), both[0], target);
}

// Around whole groups, from any alignment; small elements everywhere, here and there, nowhere, and at the
// limits themselves.
TEST(TileKernels, RestIsThatOfOneLoop) {
  for (const float factor : {1.0f, 1e3f, 1e6f, 1e30f})
    for (size_t n = 1; n <= 70; ++n) {
      testing::Sample s = testing::sample(n + 8, static_cast<unsigned>(n));
      for (size_t i = 0; i < s.a.size(); ++i) {
        const float b = std::remainder(s.b[i], 1.0f) * factor;
        s.wide_b[i] = static_cast<double>(s.b[i] = i % 11 == 0 ? 100 : i % 13 == 0 ? -1000 : b);
        s.wide_a[i] = static_cast<double>(s.a[i] = b + static_cast<float>(i)) + 1e-9;
      }
      on_every_target([&](const char* target) {
        for (size_t shift = 0; shift < 8; ++shift) {
          check_rest(s.a, s.b, shift, target);
          check_rest(s.wide_a, s.wide_b, shift, target);
        }
      });
    }
}

TEST(TileKernels, ExponentialIsRightToFourteenDigits) {
  for (double x = 0; x > -700; x = x * 1.01 - 0.0007) {
    const double wanted = static_cast<double>(std::exp(static_cast<long double>(x)));
    EXPECT_NEAR(exp_nonpositive(x), wanted, wanted * 2e-14) << x;
  }
  EXPECT_LT(exp_nonpositive(-1e30), 1e-300);
}

// Where the sides are equal, one of them is enough.
TEST(TileKernels, ExponentialsAreThoseOfTheSoftmaxOfEqualSides) {
  for (size_t n = 1; n <= 70; ++n) {
    const testing::Sample s = testing::sample(n + 8, static_cast<unsigned>(n));
    on_every_target([&](const char* target) {
      for (size_t shift = 0; shift < 8; ++shift) {
        const auto count = static_cast<int64_t>(s.a.size() - shift);
        const float* x = s.a.data() + shift;
        const double* wide = s.wide_a.data() + shift;
        const double peak = *std::max_element(wide, wide + count);
        const Extremes extremes = {*std::min_element(wide, wide + count), peak};
        const Softmax both = softmax(x, x, count, extremes, extremes),
                      of_wide = softmax(wide, wide, count, extremes, extremes);
        EXPECT_EQ(exponentials(x, count, peak), both.za) << target;
        EXPECT_EQ(exponentials(wide, count, peak), of_wide.zb) << target;
        EXPECT_EQ(both.za, both.zb) << target;
        EXPECT_EQ(both.cross, 0) << target;
      }
    });
  }
}

// What is known to lie close to its peak needs no care; the bits are the same.
TEST(TileKernels, SoftmaxOfCloseElementsIsThatOfAny) {
  for (size_t n = 1; n <= 70; ++n) {
    testing::Sample s = testing::sample(n + 8, static_cast<unsigned>(n));
    for (auto* side : {&s.a, &s.b})
      for (float& x : *side) x = std::remainder(x, 700.0f);
    on_every_target([&](const char* target) {
      for (size_t shift = 0; shift < 8; ++shift) {
        const float *a = s.a.data() + shift, *b = s.b.data() + shift;
        const auto count = static_cast<int64_t>(s.a.size() - shift);
        const Softmax close = softmax(a, b, count, {-350, 350}, {-350, 350});
        const Softmax any = softmax(a, b, count, {-1e9, 350}, {-1e9, 350});
        EXPECT_EQ(close.za, any.za) << target;
        EXPECT_EQ(close.zb, any.zb) << target;
        EXPECT_EQ(close.cross, any.cross) << target;
      }
    });
  }
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
