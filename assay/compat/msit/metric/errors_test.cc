#include "assay/compat/msit/metric/errors.h"

#include "assay/compat/msit/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

#include <algorithm>
#include <cmath>

namespace assay {
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

// One element at a time, in f32 and in the order of the original; all of it across tiles and bands.
TEST(MsitErrors, TheMetricAddsUpWholeTensors) {
  const auto n = static_cast<size_t>(kBandElements) + 3000;
  std::vector<float> mine(n), golden(n);
  double max = 0, sum = 0, farthest = 0, apart = 0;
  for (size_t i = 0; i < n; ++i) {
    golden[i] = i % 7 == 0 ? 0x1p-24F : static_cast<float>(i % 1000) + 1;
    mine[i] = golden[i] * (1 + 1e-5F * static_cast<float>(i % 700));
    if (golden[i] <= 0x1p-23F) continue;
    const double ratio = static_cast<double>(std::abs(mine[i] / golden[i] - 1.0F));
    const double size = static_cast<double>(std::abs(mine[i] - golden[i]));
    max = std::max(max, ratio), sum += ratio, farthest = std::max(farthest, size), apart += size;
  }
  const std::vector<std::string> names = {"msit"};
  const auto plan = plan_metrics(names, msit_metrics());
  const auto values = plan->finish(testing::gather_all(
      *testing::tensor(DType::f32, mine), *testing::tensor(DType::f32, golden), plan->gathering()));
  const auto count = static_cast<double>(n);
  EXPECT_EQ(std::get<double>(values[0]), max);
  EXPECT_NEAR(std::get<double>(values[1]), sum / count, 1e-12 * sum / count);
  EXPECT_EQ(std::get<double>(values[2]), farthest);
  EXPECT_NEAR(std::get<double>(values[3]), apart / count, 1e-12 * apart / count);
}

}  // namespace
}  // namespace assay
