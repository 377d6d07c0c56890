#include "assay/metric/absolute_sum.h"
#include "assay/metric/metric.h"
#include "assay/metric/metric_test_tools.h"

#include <numeric>

namespace assay {
namespace {

using testing::gather_all, testing::kNan, testing::narrowed;

// cosine_logits, l1_logits
std::vector<Value> logits(DType mine_type, const std::vector<double>& mine, DType golden_type,
                          const std::vector<double>& golden) {
  const std::vector<std::string> names = {"logits"};
  const auto plan = plan_metrics(names);
  return plan->finish(gather_all(*narrowed(mine_type, mine), *narrowed(golden_type, golden), plan->needs));
}

// The cosines are those that PyTorch 1.13 printed for the same vectors.
TEST(LogitsMetric, RoundsTheCosineToTenDecimals) {
  const auto values = logits(DType::f32, {1, 2.5, 2, 4}, DType::f32, {1, 2, 3, 4});
  EXPECT_EQ(values[0], Value(0.9792963835));
  EXPECT_EQ(values[1], Value(-0.050000000000000044));  // 9.5 / 10 - 1
}

TEST(LogitsMetric, HasWholeNumbersWhereGoldenIsZero) {
  EXPECT_EQ(logits(DType::f32, {0, 0}, DType::f32, {0, 0}), (std::vector<Value>{1.0, int64_t{0}}));
  EXPECT_EQ(logits(DType::f32, {1, -1, 2}, DType::f32, {0, 0, 0}), (std::vector<Value>{0.0, int64_t{1}}));
  EXPECT_EQ(logits(DType::f32, {0, 0}, DType::f32, {1, -1}), (std::vector<Value>{0.0, -1.0}));
}

TEST(LogitsMetric, MixesTypesAndSurvivesHugeDoubles) {
  EXPECT_EQ(logits(DType::f16, {1, -3}, DType::bf16, {-2, 6}), (std::vector<Value>{-1.0, -0.5}));
  EXPECT_EQ(logits(DType::f64, {1e200, -1e200}, DType::f64, {2e200, -2e200}),
            (std::vector<Value>{1.0, -0.5}));
  EXPECT_EQ(logits(DType::i64, {1, -1}, DType::i64, {1, -1}), (std::vector<Value>{1.0, 0.0}));
}

TEST(LogitsMetric, IsAbsentWhereNothingIsFinite) {
  EXPECT_EQ(logits(DType::f32, {kNan}, DType::f32, {1}), std::vector<Value>(2));
  EXPECT_EQ(logits(DType::f32, {}, DType::f32, {}), std::vector<Value>(2));
}

// l1, rel_l1
std::vector<Value> l1(DType dtype, const std::vector<double>& mine, const std::vector<double>& golden,
                      GatherMask without = 0) {
  const std::vector<std::string> names = {"l1"};
  const auto plan = plan_metrics(names);
  return plan->finish(gather_all(*narrowed(dtype, mine), *narrowed(dtype, golden), plan->needs & ~without));
}

TEST(L1Metric, AddsUpDifferencesWithoutTheirSign) {
  // |1| + |-1| = 2 of 1 + 3 + 4; the two cancel in l1_logits.
  EXPECT_EQ(l1(DType::f32, {2, 3, -3}, {1, 3, -4}), (std::vector<Value>{2.0, 0.25}));
  EXPECT_EQ(logits(DType::f32, {2, 3, -3}, DType::f32, {1, 3, -4})[1], Value(0.0));
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
