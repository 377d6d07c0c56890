// What is measured beside large elements.
#include "assay/metric/metric.h"
#include "assay/metric/metric_test_tools.h"

#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

using testing::gather_all, testing::kInf, testing::kNan, testing::narrowed;

Value rest(DType dtype, const std::vector<double>& mine, const std::vector<double>& golden) {
  const std::vector<std::string> names = {"rel_l2_rest"};
  const auto plan = plan_metrics(names);
  return plan->finish(gather_all(*narrowed(dtype, mine), *narrowed(dtype, golden), plan->gathering()))[0];
}

// Some thousand elements, so that tiles with and without a large one are among them.
std::vector<double> noise(size_t count, double size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, size);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(static_cast<float>(normal(random)));
  return values;
}

double slow(const std::vector<double>& mine, const std::vector<double>& golden, double large) {
  long double dd = 0, gg = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    if (!std::isfinite(mine[i]) || !(std::abs(golden[i]) < large)) continue;
    dd += static_cast<long double>(mine[i] - golden[i]) * static_cast<long double>(mine[i] - golden[i]);
    gg += static_cast<long double>(golden[i]) * static_cast<long double>(golden[i]);
  }
  return static_cast<double>(std::sqrt(dd / gg));
}

TEST(RestMetric, IsThatOfTheElementsBesideAFill) {
  std::vector<double> mine = noise(9'000, 3, 1), golden = noise(9'000, 3, 2);
  for (size_t i = 5'000; i < 8'000; ++i) mine[i] = golden[i] = -65504;
  mine[17] = kNan;
  const Value value = rest(DType::f32, mine, golden);
  ASSERT_TRUE(std::holds_alternative<double>(value));
  EXPECT_NEAR(std::get<double>(value), slow(mine, golden, 100), 1e-12);
  EXPECT_GT(std::get<double>(value), 1);
}

// Squares of the fill overflow: all other sums come from a pass over scaled values, in which the rest is
// zero.
TEST(RestMetric, IsThatOfTheElementsBesideAFillThatIsTheLargestOfF64) {
  std::vector<double> mine = noise(9'000, 1, 1), golden = noise(9'000, 1, 2);
  for (size_t i = 4'000; i < 9'000; ++i) mine[i] = golden[i] = std::numeric_limits<double>::lowest();
  const Value value = rest(DType::f64, mine, golden);
  ASSERT_TRUE(std::holds_alternative<double>(value));
  EXPECT_NEAR(std::get<double>(value), slow(mine, golden, 100), 1e-12);
  EXPECT_EQ(rest(DType::f64, golden, golden), Value(0.0));
}

TEST(RestMetric, IsThatOfTheElementsBesideAFewMassiveOnes) {
  const std::vector<double> golden = [] {
    std::vector<double> values = noise(9'000, 0.1, 3);
    values[4'000] = 900;
    values[4'001] = -720;
    return values;
  }();
  std::vector<double> mine(golden.size());
  mine[4'000] = 900;
  mine[4'001] = -720;
  EXPECT_EQ(rest(DType::f64, mine, golden), Value(1.0));  // all the rest is gone
  EXPECT_EQ(rest(DType::f64, golden, golden), Value(0.0));
}

TEST(RestMetric, OfZerosIsTheSizeOfMine) {
  EXPECT_EQ(rest(DType::f32, {3, -3, -1e9, 3}, {0, 0, -1e9, 0}), Value(3.0));
  EXPECT_EQ(rest(DType::f32, {0, 0, -1e9, 0}, {0, 0, -1e9, 0}), Value(0.0));
}

// The small elements of a tensor that is large everywhere are as wrong as its rounding makes them.
TEST(RestMetric, IsAbsentWhereNothingDrowns) {
  const std::vector<double> large = noise(9'000, 1e6, 4), small = noise(9'000, 1, 5),
                            spread = noise(9'000, 40, 6);
  EXPECT_EQ(rest(DType::f32, large, large), Value());
  EXPECT_EQ(rest(DType::f32, small, small), Value());
  EXPECT_EQ(rest(DType::f32, spread, spread), Value());
  EXPECT_EQ(rest(DType::f32, {}, {}), Value());
  EXPECT_EQ(rest(DType::f32, {kInf}, {kInf}), Value());
}

TEST(RestMetric, NeedsNoScaleBesideHugeDoubles) {
  EXPECT_EQ(rest(DType::f64, {2, 4, -1e300}, {1, 2, -1e300}), Value(1.0));
}

}  // namespace
}  // namespace assay
