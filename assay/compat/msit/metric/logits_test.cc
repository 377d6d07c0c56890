#include "assay/compat/msit/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

namespace assay {
namespace {

using testing::gather_all, testing::kNan, testing::narrowed;

// cosine_logits, l1_logits
std::vector<Value> logits(DType mine_type, const std::vector<double>& mine, DType golden_type,
                          const std::vector<double>& golden) {
  const std::vector<std::string> names = {"logits"};
  const auto plan = plan_metrics(names, msit_metrics());
  return plan->finish(
      gather_all(*narrowed(mine_type, mine), *narrowed(golden_type, golden), plan->gathering()));
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

// The differences cancel, which those of l1 do not.
TEST(LogitsMetric, KeepsTheSign) {
  EXPECT_EQ(logits(DType::f32, {2, 3, -3}, DType::f32, {1, 3, -4})[1], Value(0.0));
}

}  // namespace
}  // namespace assay
