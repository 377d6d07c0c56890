#include "assay/compat/msprobe/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

// Words and messages were compared with those of msprobe 8.3 and 26.0 on the same data.

const double kNan = std::nan("");
const Item kTensorItem = {"op.1.output.0", {}, nullptr, TensorRef{}, -1, nullptr, {}, {}};

SideFacts tensor(DType dtype, std::vector<int64_t> dims) {
  return {kTensorItem.name, TensorMeta{dtype, Shape{std::move(dims)}}, "a.npy", &kTensorItem};
}

struct Metrics {
  double cosine = 1, max_abs = 0, max_rel = 0, mine_norm = 1, golden_norm = 1;
  int64_t kind_mismatch = 0;
};

Comparison pair_of(SideFacts mine, SideFacts golden, const Metrics& m = {}) {
  Comparison row;
  row.mine = std::move(mine);
  row.golden = std::move(golden);
  row.metrics = {m.cosine, m.max_abs, m.max_rel, m.mine_norm, m.golden_norm, m.kind_mismatch};
  return row;
}

Verdict judged(Comparison row, Content content = Content::data, std::string_view generation = "g2") {
  Head head;
  head.content = content;
  head.metric_columns = {"cosine_msprobe", "max_abs",     fmt::format("max_rel_{}", generation),
                         "mine_norm",      "golden_norm", "nonfinite_kind_mismatch"};
  NodeResult node{"op.1", 0, {}, {std::move(row)}};
  msprobe_kernel_rules.prepare(head, {})(node);
  return node.rows[0].verdict;
}

Verdict judged_tensors(const Metrics& m, std::vector<int64_t> dims = {4}) {
  return judged(pair_of(tensor(DType::f32, dims), tensor(DType::f32, dims), m));
}

TEST(MsprobeKernelTensors, AreJudgedByCosineAndLargestError) {
  EXPECT_EQ(judged_tensors({}).word, "Yes");
  EXPECT_EQ(judged_tensors({}).level, Level::pass);
  EXPECT_EQ(judged_tensors({}).reason, "");
  EXPECT_EQ(judged_tensors({.cosine = 0.98, .max_abs = 0.0009}).word, "Yes");
  EXPECT_EQ(judged_tensors({.cosine = 0.98, .max_abs = 0.0011}).word, "No");
  EXPECT_EQ(judged_tensors({.cosine = 0.89}).word, "No");
  EXPECT_EQ(judged_tensors({.max_abs = 1.1}).word, "No");
  EXPECT_EQ(judged_tensors({.max_abs = 1.1}).level, Level::fail);
}

TEST(MsprobeKernelTensors, ExplainACosineThatIsNone) {
  const Verdict verdict = judged_tensors({.cosine = kNan, .max_abs = 0.5, .mine_norm = 0});
  EXPECT_EQ(verdict.word, "Yes");
  EXPECT_EQ(verdict.reason, "Cannot compare by Cosine Similarity, All the data is Zero in npu dump data.");
}

TEST(MsprobeKernelTensors, OfOneElementHaveNoWordOfTheirOwn) {
  const Verdict verdict = judged_tensors({.max_abs = 2.5}, {1, 1});
  EXPECT_EQ(verdict.word, "None");
  EXPECT_EQ(verdict.reason, "This is a 1-d tensor of length 1.");
  EXPECT_EQ(verdict.level, Level::ignored);
}

void expect_silent(const Verdict& verdict, Level level, std::string_view reason) {
  EXPECT_EQ(verdict.word, "");
  EXPECT_EQ(verdict.no_metric, "");
  EXPECT_EQ(verdict.level, level);
  EXPECT_EQ(verdict.reason, reason);
}

TEST(MsprobeKernelTensors, ThatDoNotFitAreSkipped) {
  expect_silent(judged(pair_of(tensor(DType::f32, {3}), tensor(DType::f32, {1, 3}))), Level::fail,
                "Shape of NPU and bench Tensor do not match.\n");
  expect_silent(judged(pair_of(tensor(DType::f32, {3}), tensor(DType::f16, {3}))), Level::fail,
                "Dtype of NPU and bench Tensor do not match. Skipped.\n");
  expect_silent(judged(pair_of(tensor(DType::f32, {}), tensor(DType::f32, {}))), Level::ignored,
                "This is type of scalar data, can not compare.\n");
  expect_silent(judged(pair_of(tensor(DType::f32, {}), tensor(DType::f64, {1}))), Level::fail,
                "This is type of scalar data, can not compare.\n"
                "Shape of NPU and bench Tensor do not match.\n"
                "Dtype of NPU and bench Tensor do not match. Skipped.\n");
  expect_silent(judged(pair_of(tensor(DType::f32, {0}), tensor(DType::f16, {3}))), Level::ignored,
                "This is empty data, can not compare.\n");
  expect_silent(judged_tensors({.kind_mismatch = 1}), Level::fail,
                "The position of inf or nan in NPU and bench Tensor do not match.\n");
}

TEST(MsprobeKernelTensors, ThatAreMissingOrBroken) {
  Comparison row = pair_of(tensor(DType::f32, {3}), {});
  row.status = Status::only_mine;
  row.metrics.clear();
  expect_silent(judged(row), Level::fail, "Dump file is not ndarray.\n");
  row = pair_of({}, tensor(DType::f32, {3}));
  row.status = Status::only_golden;
  expect_silent(judged(row), Level::fail, "Dump file is not ndarray.\n");
  row = pair_of(tensor(DType::f32, {3}), {"x", {}, "b.npy", &kTensorItem});
  row.status = Status::unreadable;
  expect_silent(judged(row), Level::error, "Dump file is not ndarray.\n");
  row = pair_of(tensor(DType::f32, {3}), tensor(DType::f32, {3}));
  row.status = Status::unreadable;  // the file became shorter after its header was read
  expect_silent(judged(row), Level::error, "Dump file is not ndarray.\n");
}

// ----- rows of statistic.csv

struct StatedSide {
  explicit StatedSide(double max, std::string_view dtype = "float32", std::string_view shape = "(4,)") {
    stated.max = max;
    stated.dtype = dtype;
    stated.shape = shape;
    item.stated = &stated;
  }
  SideFacts facts() const { return {"op.1.output.0", {}, {}, &item}; }
  Stated stated;
  Item item;
};

Verdict judged_statistics(const StatedSide& mine, const StatedSide& golden) {
  return judged(pair_of(mine.facts(), golden.facts()), Content::statistics);
}
std::string_view word(double mine, double golden) {
  return judged_statistics(StatedSide(mine), StatedSide(golden)).word;
}

TEST(MsprobeKernelStatistics, AreJudgedByTheirMaximum) {
  EXPECT_EQ(word(1, 1), "Yes");
  EXPECT_EQ(word(2, 1), "Yes");
  EXPECT_EQ(word(2.5, 1), "No");
  EXPECT_EQ(word(1, 100), "Yes");  // far below: as in the original
  EXPECT_EQ(word(1, 0), "No");
  EXPECT_EQ(word(-1, -5), "Yes");  // 4 / -1
  EXPECT_EQ(word(-5, -1), "No");   // -4 / -1
  EXPECT_EQ(word(kNan, kNan), "Yes");
  EXPECT_EQ(word(kNan, 1), "No");
  EXPECT_EQ(word(HUGE_VAL, HUGE_VAL), "No");
}

// Compared with the words of msprobe 1.1.
TEST(MsprobeKernelStatistics, OfGeneration1AreJudgedByTheSizeOfTheDifference) {
  const auto first = [](double mine, double golden) {
    const StatedSide m(mine), g(golden);
    return judged(pair_of(m.facts(), g.facts()), Content::statistics, "kernel_g1").word;
  };
  EXPECT_EQ(first(-10, 1), "No");  // "Yes" in the later ones
  EXPECT_EQ(first(1, 100), "No");
  EXPECT_EQ(first(1, 1), "Yes");
  EXPECT_EQ(first(kNan, kNan), "Yes");
  EXPECT_EQ(
      judged(pair_of(tensor(DType::f32, {1}), tensor(DType::f32, {1})), Content::data, "kernel_g1").reason,
      "This tensor is scalar.");
}

TEST(MsprobeKernelStatistics, WithoutAMaximumAreNotCompared) {
  StatedSide none(0);
  none.stated.max = {};
  constexpr std::string_view kReason = "The maximum is not in statistic.csv, can not compare.\n";
  for (const Verdict& verdict : {judged_statistics(none, none), judged_statistics(none, StatedSide(1))}) {
    EXPECT_EQ(verdict.word, "None");  // the other three statistics keep their columns
    EXPECT_EQ(verdict.level, Level::error);
    EXPECT_EQ(verdict.reason, kReason);
  }
}

TEST(MsprobeKernelStatistics, BesideTensorsAreJudgedAsWell) {
  const StatedSide one(1), far(9);
  EXPECT_EQ(judged(pair_of(one.facts(), one.facts())).word, "Yes");
  EXPECT_EQ(judged(pair_of(far.facts(), one.facts())).word, "No");
}

TEST(MsprobeKernelStatistics, ThatDoNotFitAreSkipped) {
  expect_silent(judged_statistics(StatedSide(1), StatedSide(1, "float32", "(2,2)")), Level::fail,
                "Tensor shapes do not match.\n");
  expect_silent(judged_statistics(StatedSide(1), StatedSide(1, "float16")), Level::fail,
                "Dtype of NPU and bench Tensor do not match. Skipped.\n");
  expect_silent(judged_statistics(StatedSide(1, "float32", ""), StatedSide(1, "float32", "(1,)")),
                Level::ignored, "This is type of scalar data, can not compare.\n");
}

TEST(MsprobeKernelStatistics, OfOneSideOnly) {
  constexpr std::string_view kBoth =
      "Tensor shapes do not match.\nDtype of NPU and bench Tensor do not match. Skipped.\n";
  const StatedSide side(1), scalar(1, "float32", "");
  expect_silent(judged(pair_of(side.facts(), {}), Content::statistics), Level::fail, kBoth);
  expect_silent(judged(pair_of({}, side.facts()), Content::statistics), Level::fail, kBoth);
  expect_silent(judged(pair_of(scalar.facts(), {}), Content::statistics), Level::fail,
                "This is type of scalar data, can not compare.\n"
                "Dtype of NPU and bench Tensor do not match. Skipped.\n");
}

TEST(MsprobeKernelStatistics, ThatCannotBeReadSayWhy) {
  const StatedSide side(1);
  Comparison row = pair_of(side.facts(), side.facts());
  row.status = Status::unreadable;
  row.note = "statistic.csv:2: Max Value is 'x', not a number";
  expect_silent(judged(row, Content::statistics), Level::error, row.note + "\n");
}

}  // namespace
}  // namespace assay
