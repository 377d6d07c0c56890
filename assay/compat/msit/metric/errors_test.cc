#include "assay/compat/msit/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

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
