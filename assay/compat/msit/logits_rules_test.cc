#include "assay/compat/msit/logits_rules.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::HasSubstr;

struct Measured {
  double cosine = 1, kl = 0, l1 = 0, mine_max = 4, golden_max = 4;
  int64_t mine_nan = 0, golden_inf = 0;
};

Head head() {
  Head out;
  out.metric_columns = {"cosine_logits", "kl",       "l1_logits",  "mine_max",  "golden_max",
                        "mine_nan",      "mine_inf", "golden_nan", "golden_inf"};
  return out;
}

Comparison compared(const Measured& m, Shape mine = {{8}}, Shape golden = {{8}}) {
  Comparison row;
  row.pair = {ItemId{}, ItemId{}, Why::same_name};
  row.basis = Basis::data;
  row.mine.meta = TensorMeta{DType::f32, std::move(mine)};
  row.golden.meta = TensorMeta{DType::f32, std::move(golden)};
  row.metrics = {m.cosine,   m.kl,       m.l1,       m.mine_max,  m.golden_max,
                 m.mine_nan, int64_t{0}, int64_t{0}, m.golden_inf};
  return row;
}

Verdict judged(Comparison row, const LogitsLimits& limits = {}) {
  const Head of_run = head();
  RuleOptions options;
  NodeResult node{"x.pth", 0, {}, {std::move(row)}};
  logitscmp_rules(limits).prepare(of_run, options)(node);
  return node.rows[0].verdict;
}

TEST(Logitscmp, PassesWhatKeepsAllThreeLimits) {
  const Verdict verdict = judged(compared({.cosine = 0.9991, .kl = 0.00009, .l1 = 0.0099, .golden_max = 9}));
  EXPECT_EQ(verdict.word, "True");
  EXPECT_EQ(verdict.level, Level::pass);
}

TEST(Logitscmp, FailsAtALimitItself) {
  EXPECT_EQ(judged(compared({.cosine = 0.999, .golden_max = 9})).word, "False");
  EXPECT_EQ(judged(compared({.kl = 0.0001, .golden_max = 9})).word, "False");
  const Verdict verdict = judged(compared({.l1 = 0.01, .golden_max = 9}));
  EXPECT_EQ(verdict.word, "False");
  EXPECT_EQ(verdict.level, Level::fail);
  EXPECT_THAT(verdict.reason, HasSubstr("l1 0.01 >= 0.01"));
}

// One ULP of 4 is 2^-8 in fp16, 2^-5 in bf16, 2^-21 in fp32.
TEST(Logitscmp, PassesLargestLogitsOneUlpApart) {
  const Comparison row = compared({.cosine = 0, .mine_max = 4, .golden_max = 4 + 0x1p-8});
  EXPECT_EQ(judged(row).word, "True");
  EXPECT_EQ(judged(row, {.dtype = DType::f32}).word, "False");
  EXPECT_EQ(judged(compared({.cosine = 0, .golden_max = 4 + 0x1p-5}), {.dtype = DType::bf16}).word, "True");
  EXPECT_EQ(judged(compared({.cosine = 0, .mine_max = -4, .golden_max = -4})).word, "False");  // no ULP
}

TEST(Logitscmp, LeavesOutLeadingOnesAndNothingElse) {
  EXPECT_EQ(judged(compared({}, {{1, 8}}, {{8}})).word, "True");
  EXPECT_EQ(judged(compared({}, {{2, 4}}, {{1, 2, 4}})).word, "True");
  EXPECT_EQ(judged(compared({}, {{1, 1, 8}}, {{1, 8}})).word, "True");
  EXPECT_EQ(judged(compared({}, {{8}}, {{1, 1, 8}})).word, "True");
  EXPECT_EQ(judged(compared({}, {{8, 1}}, {{8}})).reason, "data shape doesn't match.");
  EXPECT_EQ(judged(compared({}, {{1, 2, 4}}, {{1, 8}})).reason, "data shape doesn't match.");
}

TEST(Logitscmp, GivesTheReasonOfARowWithoutNumbers) {
  EXPECT_EQ(judged(compared({.mine_nan = 1})).reason, "my_data includes NAN or inf.");
  EXPECT_EQ(judged(compared({.mine_nan = 1, .golden_inf = 2})).reason,
            "golden_data includes NAN or inf. my_data includes NAN or inf.");
  EXPECT_EQ(judged(compared({.mine_max = 0})).reason, "max value is 0, cannot compute ulp");
  EXPECT_EQ(judged(compared({}, {{0}}, {{0}})).reason, "both tensors are empty.");
  Comparison other = compared({}, {{8}}, {{9}});
  other.status = Status::shape_mismatch;
  other.basis = Basis::nothing;
  other.metrics.clear();
  other.golden.measured = Stats{std::nan(""), 0.0, 0.0, 0.0, ""};
  other.mine.measured = Stats{1.0, 0.0, 0.0, 0.0, ""};
  const Verdict verdict = judged(other);
  EXPECT_EQ(verdict.reason, "data shape doesn't match. golden_data includes NAN or inf.");
  EXPECT_TRUE(verdict.word.empty());
}

TEST(Logitscmp, TellsWhatIsMissingOrUnreadable) {
  Comparison row = compared({});
  row.pair.mine.reset();
  EXPECT_EQ(judged(row).reason, "only_in_golden_path");
  row = compared({});
  row.pair.golden.reset();
  EXPECT_EQ(judged(row).reason, "only_in_my_path");
  row = compared({});
  row.status = Status::unreadable;
  row.note = "x.pth: is truncated";
  EXPECT_EQ(judged(row).reason, "x.pth: is truncated");
  EXPECT_EQ(judged(row).level, Level::error);
}

}  // namespace
}  // namespace assay
