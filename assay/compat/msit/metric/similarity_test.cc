#include "assay/compat/msit/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

namespace assay {
namespace {

using testing::gather_all, testing::kInf, testing::kNan, testing::narrowed;

std::vector<Value> measured(const char* metric, const std::vector<double>& mine,
                            const std::vector<double>& golden) {
  const std::vector<std::string> names = {metric};
  const auto plan = plan_metrics(names, msit_metrics());
  return plan->finish(
      gather_all(*narrowed(DType::f32, mine), *narrowed(DType::f32, golden), plan->gathering()));
}

Stated stated(double value) {
  Stated out;
  out.max = out.min = out.mean = out.norm = Scalar(value);
  return out;
}

// Differences of one number on each side: absolute and relative.
std::pair<Value, Value> apart(double golden, double mine) {
  const std::vector<std::string> names = {"msit_stated"};
  const auto values = plan_metrics(names, msit_metrics())->finish_stated(stated(mine), stated(golden));
  EXPECT_EQ(values.size(), 8u);
  for (size_t i = 2; i < values.size(); ++i) EXPECT_EQ(values[i], values[i % 2]);
  return {values[0], values[1]};
}

// What msit of 2026 prints for the same numbers.
TEST(MsitStated, DividesByNoLessThanEpsilon) {
  const auto f = [](float value) { return Value(static_cast<double>(value)); };
  EXPECT_EQ(apart(1, 1.5), std::pair(f(0.5F), f(0.5F)));
  EXPECT_EQ(apart(0, 0.5), std::pair(f(0.5F), f(4194304.0F)));
  EXPECT_EQ(apart(-2, -1), std::pair(f(1.0F), f(0.5F)));
  EXPECT_EQ(apart(1e-9, 2e-9), std::pair(f(1e-09F), f(0.008388608F)));
}

TEST(MsitStated, SaysNothingOfWhatIsNotStated) {
  const std::vector<std::string> names = {"msit_stated"};
  const auto values = plan_metrics(names, msit_metrics())->finish_stated(stated(1), Stated());
  for (const Value& value : values) EXPECT_EQ(value, Value());
}

// max 4 and 5, min 1 and -1, mean 2.5 twice, norm √30 and √52.
TEST(MsitStated, TakesStatisticsOfDataWhereBothSidesHaveThem) {
  const auto values = measured("msit_stated", {5, -1, 1, 5}, {4, 1, 2, 3});
  const double expected[] = {1, 0.25, 2, 2, 0, 0, 1.7338769, 0.3165612};
  ASSERT_EQ(values.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(std::get<double>(values[i]), expected[i], 1e-6) << i;
}

TEST(MsitSimilarity, HasItsOwnWordsForZeros) {
  using Values = std::vector<Value>;
  EXPECT_EQ(measured("msit_similarity", {0, 0}, {0, 0}), (Values{1.0, 0.0}));
  EXPECT_EQ(measured("msit_similarity", {1, -1}, {0, 0}), (Values{0.0, 0.0}));
  EXPECT_EQ(measured("msit_similarity", {0, 0}, {1, -1}), (Values{0.0, 1.0}));
}

TEST(MsitSimilarity, AgreesWithTheOriginal) {
  const auto values = measured("msit_similarity", {1, 2.5, 2, 4}, {1, 2, 3, 4});
  EXPECT_NEAR(std::get<double>(values[0]), 0.9792963835, 1e-10);
  EXPECT_NEAR(std::get<double>(values[1]), 0.20412415266036987, 1e-7);
}

TEST(MsitSimilarity, IsAbsentWithoutFinitePairs) {
  EXPECT_EQ(measured("msit_similarity", {kNan}, {kInf}), (std::vector<Value>{Value(), Value()}));
}

}  // namespace
}  // namespace assay
