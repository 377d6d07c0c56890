#include "assay/compat/msit/metric/tile_errors.h"
#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace assay::tile {
namespace {

MsitErrors errors_of(const std::vector<float>& golden, const std::vector<float>& mine) {
  return msit_errors(mine.data(), golden.data(), std::ssize(golden));
}

// Largest and mean, as msit of 2025 prints them for these numbers.
TEST(MsitErrors, AgreesWithTheOriginal) {
  struct Case {
    std::vector<float> golden, mine;
    double max, mean;
  };
  const std::vector<Case> cases = {
      {{1, 2, 3, 4}, {1, 2, 3, 5}, 0.25, 0.0625},
      {{0, 0, 1e-8F}, {0, 1, 1}, 0, 0},
      {{0, 0}, {1, 0}, 0, 0},
      {{2}, {-3}, 2.5, 2.5},
      {{1, -1}, {2, -2}, 1, 1},
      {{1e30F, 1}, {1e30F, 2}, 1, 0.5},
      {{1, 2, 3, 4}, {1, 2.5, 2, 4}, 0.3333333134651184, 0.1458333283662796},
      {{0, 0, 0, 0}, {0, 0, 0, 0}, 0, 0},
      {{0, 0, 0}, {1, -1, 2}, 0, 0},
      {{1, -1, 2}, {0, 0, 0}, 1, 1},
      {{0, 1e-7F, 1.192092896e-07F, 2}, {5, 1e-7F, 2e-7F, 1}, 0.5, 0.125},
      {{65504, -65504, 6.002187728881836e-05F}, {65504, -65504, 0}, 1, 0.3333333432674408},
      {{-128, 127, 0, 5}, {-127, 127, 1, 4}, 0.19999998807907104, 0.05195312201976776},
      {{3e38F, -3e38F, 1e20F}, {3e38F, 3e38F, 1e20F}, 2, 0.6666666865348816},
  };
  for (const Case& c : cases) {
    const MsitErrors found = errors_of(c.golden, c.mine);
    EXPECT_EQ(found.max_ratio, c.max) << c.golden[0];
    EXPECT_NEAR(found.sum_ratio / static_cast<double>(c.golden.size()), c.mean, 1e-7 * c.mean) << c.golden[0];
  }
}

TEST(MsitErrors, AQuotientThatF32CannotHoldIsInfinite) {
  EXPECT_EQ(errors_of({1e-6F}, {3e38F}).max_ratio, std::numeric_limits<double>::infinity());
}

TEST(MsitErrors, NothingOfNothing) {
  EXPECT_EQ(errors_of({}, {}).max_ratio, 0);
  EXPECT_EQ(errors_of({}, {}).sum_ratio, 0);
}

// Whatever lane the largest lies in, at lengths around the number of lanes.
TEST(MsitErrors, FindsTheLargestAtAnyPlace) {
  for (size_t n = 1; n <= 33; ++n)
    for (size_t at = 0; at < n; ++at) {
      const std::vector<float> golden(n, 4);
      std::vector<float> mine(n, 4);
      mine[at] = 5;
      EXPECT_EQ(errors_of(golden, mine).max_ratio, 0.25);
      EXPECT_EQ(errors_of(golden, mine).sum_ratio, 0.25);
    }
}

// One loop, element by element, in the order that all CPUs keep.
template <class T>
MsitErrors slow_errors(const T* mine, const T* golden, int64_t n) {
  MsitErrors out;
  double ratios[8] = {}, sizes[8] = {};
  for (int64_t i = 0; i < n; ++i) {
    const auto m = static_cast<float>(mine[i]), g = static_cast<float>(golden[i]);
    if (std::abs(g) <= 0x1p-23F) continue;
    const float ratio = std::abs(m / g - 1), size = std::abs(m - g);
    if (static_cast<double>(ratio) > out.max_ratio) out.max_ratio = static_cast<double>(ratio);
    if (static_cast<double>(size) > out.max_size) out.max_size = static_cast<double>(size);
    ratios[i % 8] += static_cast<double>(ratio);
    sizes[i % 8] += static_cast<double>(size);
  }
  for (size_t lane = 0; lane < 8; ++lane) {
    out.sum_ratio += ratios[lane];
    out.sum_size += sizes[lane];
  }
  return out;
}

template <class T>
void check(const std::vector<T>& mine, const std::vector<T>& golden, size_t shift, const char* target) {
  const auto n = static_cast<int64_t>(mine.size() - shift);
  const MsitErrors found = msit_errors(mine.data() + shift, golden.data() + shift, n);
  const MsitErrors wanted = slow_errors(mine.data() + shift, golden.data() + shift, n);
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_TRUE(same(found.max_ratio, wanted.max_ratio)) << target << ", " << n << " elements";
  EXPECT_TRUE(same(found.sum_ratio, wanted.sum_ratio)) << target << ", " << n << " elements";
  EXPECT_TRUE(same(found.max_size, wanted.max_size)) << target << ", " << n << " elements";
  EXPECT_TRUE(same(found.sum_size, wanted.sum_size)) << target << ", " << n << " elements";
}

// Around whole groups, from any alignment, with zeros, tiny and huge elements; among doubles those that f32
// cannot hold, on one side and on both.
TEST(MsitErrors, AreThoseOfOneLoopOnEveryTarget) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t n = 1; n <= 70; ++n) {
    std::vector<float> golden(n + 8), mine(n + 8);
    for (size_t i = 0; i < golden.size(); ++i) {
      golden[i] = random() % 9 == 0 ? 0 : std::ldexp(normal(random), static_cast<int>(random() % 80) - 40);
      mine[i] = random() % 5 == 0 ? golden[i] : golden[i] + normal(random);
    }
    std::vector<double> wide_golden(golden.begin(), golden.end()), wide_mine(mine.begin(), mine.end());
    wide_mine[n / 2] = 1e300;
    if (n % 3 == 0) wide_golden[n / 2] = -1e300;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      ASSERT_STREQ(target_name(), hwy::TargetName(target));
      for (size_t shift = 0; shift < 8; ++shift) {
        check(mine, golden, shift, hwy::TargetName(target));
        check(wide_mine, wide_golden, shift, hwy::TargetName(target));
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

}  // namespace
}  // namespace assay::tile
