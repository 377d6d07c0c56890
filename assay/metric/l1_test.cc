#include "assay/metric/absolute_sum.h"
#include "assay/metric/metric.h"
#include "assay/metric/metric_test_tools.h"

namespace assay {
namespace {

using testing::gather_all, testing::kNan, testing::narrowed;

// l1, rel_l1
std::vector<Value> l1(DType dtype, const std::vector<double>& mine, const std::vector<double>& golden,
                      GatherMask without = 0) {
  const std::vector<std::string> names = {"l1"};
  const auto plan = plan_metrics(names);
  return plan->finish(gather_all(*narrowed(dtype, mine), *narrowed(dtype, golden), {plan->needs & ~without}));
}

TEST(L1Metric, AddsUpDifferencesWithoutTheirSign) {
  // |1| + |-1| = 2 of 1 + 3 + 4
  EXPECT_EQ(l1(DType::f32, {2, 3, -3}, {1, 3, -4}), (std::vector<Value>{2.0, 0.25}));
  EXPECT_EQ(l1(DType::f64, {1e200, -1e200}, {2e200, -2e200}), (std::vector<Value>{2e200, 0.5}));
  EXPECT_EQ(l1(DType::f16, {1, kNan, 2}, {1, 5, 1}), (std::vector<Value>{1.0, 0.5}));  // the finite part
}

TEST(L1Metric, HasNoShareOfNothing) {
  EXPECT_EQ(l1(DType::f32, {1, 2}, {0, 0}), (std::vector<Value>{3.0, std::monostate()}));
  EXPECT_EQ(l1(DType::f32, {0, 0}, {0, 0}), (std::vector<Value>{0.0, 0.0}));
  EXPECT_EQ(l1(DType::f32, {kNan}, {1}), std::vector<Value>(2));
  EXPECT_EQ(l1(DType::f32, {}, {}), std::vector<Value>(2));
}

TEST(L1Metric, IsAbsentWhereTheSumsWereLeftOut) {
  EXPECT_EQ(l1(DType::f32, {2, 3}, {1, 3}, gather::absolutes), std::vector<Value>(2));
}

// Small whole numbers add up exactly in any order.
TEST(AbsoluteSum, AgreesWithAPlainLoopAtAwkwardLengths) {
  std::vector<float> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * (i % 2 == 0 ? 1.0f : -1.0f);
  for (const int64_t n : {0, 1, 15, 16, 17, 31, 32, 99})
    EXPECT_EQ(absolute_sum(values.data(), n), static_cast<double>(n * (n - 1) / 2)) << n;
}

}  // namespace
}  // namespace assay
