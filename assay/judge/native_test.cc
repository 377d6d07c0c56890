#include "assay/judge/judge.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> kColumns = {"nonfinite_mismatch", "ulp_max",     "rel_l2", "max_abs",
                                           "golden_rms",         "worst_golden"};

struct Measured {
  Value nonfinite_mismatch = int64_t{0}, ulp_max = int64_t{0}, rel_l2 = 0.0, max_abs = 0.0, golden_rms = 1.0,
        worst_golden = 1.0;
};

Comparison row_of(DType mine, DType golden, const Measured& m, std::vector<int64_t> dims = {4}) {
  Comparison row;
  row.mine = {"a.weight", TensorMeta{mine, {dims}}, {}};
  row.golden = {"b.weight", TensorMeta{golden, {dims}}, {}};
  row.basis = Basis::data;
  row.evidence = Evidence::elements;
  row.metrics = {m.nonfinite_mismatch, m.ulp_max, m.rel_l2, m.max_abs, m.golden_rms, m.worst_golden};
  return row;
}

Verdict judged(Comparison row, const RuleOptions& options = {}, std::string_view node = "layers.0") {
  Head head;
  head.metric_columns = kColumns;
  NodeResult result{node, 0, {}, {std::move(row)}};
  native_rules.prepare(head, options)(result);
  return result.rows[0].verdict;
}

Level level(DType mine, DType golden, const Measured& m) { return judged(row_of(mine, golden, m)).level; }

Rule rule(std::string_view text) { return *parse_rule(text); }

TEST(NativeRules, IdenticalTensorsPassForEveryType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(level(dtype, dtype, {}), Level::pass) << name(dtype);
  }
}

TEST(NativeRules, EveryRealTypeHasItsThresholds) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool exact = !is_real(dtype) && !is_complex(dtype);
    EXPECT_EQ(default_rule(dtype, dtype).text() == "max_abs == 0", exact) << name(dtype);
  }
}

TEST(NativeRules, ShowsItsRulesAsText) {
  EXPECT_EQ(default_rule(DType::bf16, DType::f32).text(),
            "nonfinite_mismatch == 0 and (rel_l2 <= 0.032 and (max_abs <= 16 * 0.032 * golden_rms or max_abs "
            "<= 4 * 0.032 * "
            "abs(worst_golden)) or ulp_max <= 4)");
  EXPECT_THAT(default_rule(DType::f32, DType::f32).text(), HasSubstr("rel_l2 <= 1.5e-05 and"));
  EXPECT_THAT(default_rule(DType::f64, DType::f64).text(), HasSubstr("rel_l2 <= 1e-11 and"));
}

TEST(NativeRules, TheCoarserTypeDecides) {
  const Measured m = {.ulp_max = int64_t{100}, .rel_l2 = 0.02, .max_abs = 0.1};
  EXPECT_EQ(level(DType::f32, DType::f32, m), Level::fail);
  EXPECT_EQ(level(DType::f32, DType::bf16, m), Level::pass);
  EXPECT_EQ(level(DType::bf16, DType::f32, m), Level::pass);
  EXPECT_EQ(level(DType::f16, DType::bf16, m), Level::pass);
  EXPECT_EQ(level(DType::f16, DType::f32, m), Level::fail);
  EXPECT_EQ(level(DType::i32, DType::bf16, m), Level::pass);  // an integer against a real follows the real
  EXPECT_EQ(level(DType::i32, DType::i64, m), Level::fail);
}

TEST(NativeRules, SymmetricInTheSides) {
  for (int i = 0; i < kDTypeCount; ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_EQ(default_rule(static_cast<DType>(i), static_cast<DType>(j)).text(),
                default_rule(static_cast<DType>(j), static_cast<DType>(i)).text());
}

TEST(NativeRules, FewUlpsPassWhateverTheRest) {
  const Measured m = {.ulp_max = int64_t{4},
                      .rel_l2 = std::monostate(),
                      .max_abs = 1e-40,
                      .golden_rms = 0.0,
                      .worst_golden = 0.0};
  EXPECT_EQ(level(DType::bf16, DType::bf16, m), Level::pass);
  Measured more = m;
  more.ulp_max = int64_t{5};
  EXPECT_EQ(level(DType::bf16, DType::bf16, more), Level::fail);
  EXPECT_EQ(level(DType::f8e4m3fn, DType::f8e4m3fn, m), Level::fail);
}

TEST(NativeRules, AllZeroGoldenPassesByUlpsOnly) {
  const Measured m = {.ulp_max = int64_t{1000},
                      .rel_l2 = std::monostate(),
                      .max_abs = 1e-9,
                      .golden_rms = 0.0,
                      .worst_golden = 0.0};
  const Verdict verdict = judged(row_of(DType::f32, DType::f32, m));
  EXPECT_EQ(verdict.level, Level::fail);
  EXPECT_THAT(verdict.reason, HasSubstr("rel_l2 is not available"));
  EXPECT_THAT(verdict.reason, HasSubstr("ulp_max 1000 > 16"));
}

TEST(NativeRules, SingleOutliersFail) {
  // rel_l2 is fine, but one element is off by 0.6 where 16 * 0.032 * 1 = 0.512 and 4 * 0.032 * 1 = 0.128 are
  // allowed.
  Measured m = {.ulp_max = int64_t{500}, .rel_l2 = 0.01, .max_abs = 0.6};
  EXPECT_EQ(judged(row_of(DType::bf16, DType::bf16, m)).reason,
            "max_abs 0.6 > 0.512 (16 * 0.032 * golden_rms); max_abs 0.6 > 0.128 (4 * 0.032 * "
            "abs(worst_golden)); ulp_max 500 > 4");
  m.worst_golden = -6.0;  // the same difference on a large element: 4 * 0.032 * 6 = 0.768
  EXPECT_EQ(level(DType::bf16, DType::bf16, m), Level::pass);
}

TEST(NativeRules, NonfiniteMismatchFails) {
  const Verdict verdict = judged(row_of(DType::f32, DType::f32, {.nonfinite_mismatch = int64_t{3}}));
  EXPECT_EQ(verdict.level, Level::fail);
  EXPECT_EQ(verdict.reason, "nonfinite_mismatch 3 != 0");
}

TEST(NativeRules, NothingFiniteIsNotCompared) {
  const Value none = std::monostate();
  const Measured m = {
      .ulp_max = none, .rel_l2 = none, .max_abs = none, .golden_rms = none, .worst_golden = none};
  Comparison row = row_of(DType::f32, DType::f32, m);
  row.evidence = Evidence::nothing;
  EXPECT_EQ(judged(row).level, Level::ignored);
  RuleOptions options;
  options.rules.push_back(rule("max_abs <= 1"));
  EXPECT_EQ(judged(row, options).level, Level::ignored);
  Measured differs = m;
  differs.nonfinite_mismatch = int64_t{1};
  EXPECT_EQ(level(DType::f32, DType::f32, differs), Level::fail);
}

TEST(NativeRules, RulesOfTheUserDoNotExcuseNan) {
  const Comparison row = row_of(DType::f32, DType::f32, {.nonfinite_mismatch = int64_t{3}});
  RuleOptions options;
  options.rules.push_back(rule("max_abs <= 1"));
  EXPECT_EQ(judged(row, options).reason,
            "nonfinite_mismatch 3 > 0: NaN or infinite on one side only, or another one");
  EXPECT_THAT(columns_needed(options), ElementsAre("max_abs", "nonfinite_mismatch"));
  options.allow_nonfinite = true;
  EXPECT_EQ(judged(row, options).level, Level::pass);
  options = {};
  options.rules.push_back(rule("max_abs <= 1 and nonfinite_mismatch <= 3"));
  EXPECT_EQ(judged(row, options).level, Level::pass);
  options = {};
  options.rules.push_back(rule("max_abs <= 1 and nonfinite_mismatch <= 2"));
  EXPECT_EQ(judged(row, options).level, Level::fail);
}

TEST(NativeRules, TensorsWithoutElementsPassNothing) {
  const Value none = std::monostate();
  const Measured m = {none, none, none, none, none, none};
  RuleOptions options;
  options.rules.push_back(rule("max_abs == 0"));
  Comparison real = row_of(DType::f32, DType::f32, m, {0, 3}), whole = row_of(DType::i32, DType::i32, m, {0});
  real.evidence = whole.evidence = Evidence::empty;
  EXPECT_EQ(judged(real).level, Level::ignored);
  EXPECT_EQ(judged(whole, options).level, Level::ignored);
}

TEST(NativeRules, MetricsThatWereNotMeasuredFail) {
  Comparison row = row_of(DType::f32, DType::f32, {});
  row.metrics.clear();
  Head head;
  NodeResult node{"n", 0, {}, {row}};
  const RuleOptions options;
  native_rules.prepare(head, options)(node);
  EXPECT_EQ(node.rows[0].verdict.level, Level::fail);
  EXPECT_THAT(node.rows[0].verdict.reason, HasSubstr("nonfinite_mismatch is not available"));
}

TEST(NativeRules, IntegersAreExact) {
  for (const DType dtype : {DType::i64, DType::i8, DType::u8, DType::boolean}) {
    EXPECT_EQ(level(dtype, dtype, {}), Level::pass);
    EXPECT_EQ(judged(row_of(dtype, dtype, {.ulp_max = int64_t{1}, .max_abs = 1.0})).reason, "max_abs 1 != 0");
  }
}

TEST(NativeRules, ComplexFollowsItsComponents) {
  const Measured m = {.ulp_max = int64_t{100}, .rel_l2 = 1e-3, .max_abs = 1e-3};
  EXPECT_EQ(level(DType::c32, DType::c32, m), Level::pass);  // as f16
  EXPECT_EQ(level(DType::c64, DType::c64, m), Level::fail);  // as f32
}

TEST(NativeRules, OtherStatusesHaveTheirLevels) {
  Comparison row = row_of(DType::f32, DType::f32, {});
  row.status = Status::only_mine;
  EXPECT_EQ(judged(row).level, Level::fail);
  EXPECT_THAT(judged(row).reason, StartsWith("only in mine"));
  RuleOptions lenient;
  lenient.unmatched_fails = false;
  EXPECT_EQ(judged(row, lenient).level, Level::ignored);
  row.status = Status::only_golden;
  EXPECT_EQ(judged(row).level, Level::fail);
  EXPECT_THAT(judged(row, lenient).reason, StartsWith("only in golden"));

  row.status = Status::shape_mismatch;
  row.golden.meta = TensorMeta{DType::f32, Shape{{2, 2}}};
  EXPECT_EQ(judged(row, lenient).level, Level::fail);
  EXPECT_EQ(judged(row).reason, "shape [4] of mine, [2, 2] of golden");
  row.golden.meta = row.mine.meta;
  row.note = "x.pth: rank 2 of 2 holds f32 [8]";
  EXPECT_EQ(judged(row).reason, "x.pth: rank 2 of 2 holds f32 [8]");

  row.status = Status::unreadable;
  row.note = "a.npy: truncated";
  EXPECT_EQ(judged(row).level, Level::error);
  EXPECT_EQ(judged(row).reason, "a.npy: truncated");
  row.status = Status::no_data;
  row.note.clear();
  EXPECT_EQ(judged(row).level, Level::error);
  EXPECT_FALSE(judged(row).reason.empty());
}

TEST(NativeRules, TheLastUserRuleThatMatchesWins) {
  const Measured m = {.ulp_max = int64_t{100}, .rel_l2 = 0.5, .max_abs = 0.5};
  RuleOptions options;
  options.rules = {rule("*=max_abs <= 0.1"), rule("*.weight=max_abs <= 1"), rule("nothing=max_abs <= 0")};
  EXPECT_EQ(judged(row_of(DType::f32, DType::f32, m), options).level, Level::pass);
  options.rules.push_back(rule("b.*=max_abs <= 0.2"));  // by the golden name
  EXPECT_EQ(judged(row_of(DType::f32, DType::f32, m), options).reason, "max_abs 0.5 > 0.2");
  options.rules.push_back(rule("layers.0=max_abs <= 0.9"));  // by the name of the node
  EXPECT_EQ(judged(row_of(DType::f32, DType::f32, m), options).level, Level::pass);
}

TEST(NativeRules, RowsWithoutAUserRuleFallToTheDefaultRules) {
  RuleOptions options;
  options.rules = {rule("other*=max_abs <= 1e9")};
  const Measured m = {.ulp_max = int64_t{100}, .rel_l2 = 0.5, .max_abs = 0.5};
  EXPECT_THAT(judged(row_of(DType::f32, DType::f32, m), options).reason, HasSubstr("rel_l2 0.5 > 1.5e-05"));
}

TEST(NativeRules, UserRulesReadVariables) {
  RuleOptions options;
  options.rules = {rule("eps == 0.0078125 and count == 4")};  // 2^-7, the fraction bits of bf16
  EXPECT_EQ(judged(row_of(DType::f32, DType::bf16, {}), options).level, Level::pass);
  options.rules = {rule("eps == 0")};
  EXPECT_EQ(judged(row_of(DType::i32, DType::i32, {}), options).level, Level::pass);
  EXPECT_TRUE(is_rule_variable("eps"));
  EXPECT_TRUE(is_rule_variable("count"));
  EXPECT_FALSE(is_rule_variable("max_abs"));
}

TEST(NativeRules, WordsInsteadOfNumbersDoNotPass) {
  RuleOptions options;
  options.rules = {rule("max_abs >= 0 or not (max_abs >= 0)")};
  EXPECT_EQ(judged(row_of(DType::f32, DType::f32, {.max_abs = std::string("N/A")}), options).reason,
            "max_abs is not available");
}

TEST(NativeRules, AsksForTheColumnsItsRulesRead) {
  std::vector<std::string> all = kColumns;
  for (const std::string_view column :
       {"rel_l2_rest", "mine_norm", "golden_norm", "golden_min", "golden_max"})
    all.emplace_back(column);  // of objections
  EXPECT_THAT(columns_needed({}), testing::UnorderedElementsAreArray(all));
  RuleOptions options;
  options.rules = {rule("a*=cosine > 0.9 and max_abs < 2 * eps")};
  EXPECT_THAT(columns_needed(options), testing::IsSupersetOf({"cosine", "max_abs", "rel_l2"}));
  EXPECT_THAT(columns_needed(options), testing::Not(testing::Contains("eps")));
  options.rules.push_back(
      rule("kl < 1 or cosine > 0"));  // for all names: the default rules cannot apply any more
  EXPECT_THAT(columns_needed(options), ElementsAre("cosine", "max_abs", "kl", "nonfinite_mismatch"));
}

// Two versions of a graph: what only one of them has is no failure, unless it is asked for.
TEST(NativeRules, UnmatchedOperatorsOfDifferentGraphsAreIgnored) {
  const auto level_of = [](bool graphs_differ, const RuleOptions& options) {
    Head head;
    head.graphs_differ = graphs_differ;
    Comparison row;
    row.status = Status::only_mine;
    NodeResult result{"cast", 0, {}, {row}};
    native_rules.prepare(head, options)(result);
    return result.rows[0].verdict.level;
  };
  EXPECT_EQ(level_of(false, {}), Level::fail);
  EXPECT_EQ(level_of(true, {}), Level::ignored);
  RuleOptions strict;
  strict.unmatched_fails = true;
  EXPECT_EQ(level_of(true, strict), Level::fail);
}

TEST(NativeRules, WhatCannotBeMadeRealIsIgnoredWithItsReason) {
  Comparison row;
  row.status = Status::no_data;
  row.note = "int8 against f16: the dump holds no scale and offset of x";
  EXPECT_EQ(judged(row).level, Level::error);
  row.is_excused = true;
  EXPECT_EQ(judged(row).level, Level::ignored);
  EXPECT_EQ(judged(row).reason, row.note);
}

// One side of the dump states statistics, those of the other were computed: there is no statement to look at.
TEST(NativeRules, JudgesComputedStatistics) {
  Stated stated;
  stated.max = stated.min = stated.mean = 2.0;
  stated.norm = 4.0;
  Item with, without;
  with.stated = &stated;
  Comparison row = row_of(DType::f32, DType::f32, {});
  row.basis = Basis::stated;
  row.mine.item = &with;
  row.golden.item = &without;
  Stated computed = stated;
  row.golden.computed = std::make_shared<const Stated>(computed);
  EXPECT_EQ(judged(row).level, Level::pass);
  computed.norm = 5.0;
  row.golden.computed = std::make_shared<const Stated>(computed);
  EXPECT_THAT(judged(row).reason, StartsWith("norm 4 of mine, 5 of golden"));
}

}  // namespace
}  // namespace assay
