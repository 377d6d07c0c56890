// The default rules of rows that stand somewhere in a model.
#include "assay/judge/judge.h"

#include <gmock/gmock.h>

#include <deque>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An operator whose rows have these relative errors, and nothing else of interest.
class Operator {
 public:
  explicit Operator(ModelPlace place, DType mine = DType::f16) : mine_(mine) { node_.place = place; }

  Operator& row(Direction direction, Value rel_l2, int index = 0, std::string_view name = "x") {
    Item& item = items_.emplace_back();
    item.port = {direction, index};
    Comparison& row = node_.rows.emplace_back();
    row.basis = Basis::data;
    row.evidence = Evidence::elements;
    row.mine = {name, TensorMeta{mine_, Shape{{64}}}, {}, &item};
    row.golden = {name, TensorMeta{DType::f32, Shape{{64}}}, {}, &item};
    row.metrics = {int64_t{0}, int64_t{1000}, rel_l2, 1e-3, 1.0, 1.0};
    return *this;
  }
  Operator& input(Value rel_l2, int index = 0) { return row(Direction::input, rel_l2, index); }
  Operator& output(Value rel_l2) { return row(Direction::output, rel_l2); }
  Operator& constant(const PairPlans* plans = nullptr) {  // the last row
    node_.rows.back().pair.is_constant = true;
    node_.rows.back().pair.plans = plans;
    return *this;
  }
  Operator& element(double max_abs, double own) {  // the worst of the last row
    node_.rows.back().metrics[3] = max_abs;
    node_.rows.back().metrics[5] = own;
    return *this;
  }
  Operator& shaped(std::vector<int64_t> dims, double rms) {
    Comparison& row = node_.rows.back();
    row.mine.meta = TensorMeta{mine_, Shape{dims}};
    row.golden.meta = TensorMeta{DType::f32, Shape{std::move(dims)}};
    row.metrics[4] = rms;
    return *this;
  }

  std::vector<Level> judged(const RuleOptions& options = {}) {
    Head head;
    head.metric_columns = {"nonfinite_mismatch", "ulp_max",     "rel_l2", "max_abs",
                           "golden_rms",         "worst_golden"};
    native_rules.prepare(head, options)(node_);
    std::vector<Level> levels;
    for (const Comparison& each : node_.rows) levels.push_back(each.verdict.level);
    return levels;
  }
  std::string reason() { return judged().empty() ? "" : node_.rows.back().verdict.reason; }

 private:
  DType mine_;
  std::deque<Item> items_;
  NodeResult node_ = {"op", 0, {}, {}, {}};
};

constexpr Level kPass = Level::pass, kFail = Level::fail;
constexpr ModelPlace kEighth = {.layers_before = 8};  // the bound is three times that of the first

TEST(NativeDepth, TheBoundGrowsWithTheRootOfTheLayers) {
  EXPECT_THAT(Operator({}).output(0.0041).judged(), ElementsAre(kFail));
  EXPECT_THAT(Operator(kEighth).output(0.0119).judged(), ElementsAre(kPass));  // 0.004 * sqrt(9) = 0.012
  EXPECT_THAT(Operator(kEighth).output(0.0121).judged(), ElementsAre(kFail));
  EXPECT_THAT(Operator(kEighth).input(0.0119).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(kEighth, DType::bf16).output(0.095).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(kEighth).output(0.0121).reason(),
              HasSubstr("rel_l2 0.0121 > 0.012 (0.004 * sqrt(1 + layer))"));
}

TEST(NativeDepth, ACompiledGraphHasTwiceTheBound) {
  ModelPlace place;
  place.is_compiled = true;
  EXPECT_THAT(Operator(place).input(0.0079).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(place).input(0.0081).judged(), ElementsAre(kFail));
  EXPECT_THAT(Operator(place).output(0.0079).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(place).output(0.0081).judged(), ElementsAre(kFail));
  // f32 that was f16 before is as coarse as that.
  EXPECT_THAT(Operator(place, DType::f32).input(0.0079).judged(), ElementsAre(kFail));
  place.coarsest = DType::f16;
  EXPECT_THAT(Operator(place, DType::f32).input(0.0079).judged(), ElementsAre(kPass));
}

// Depth decides where nothing is known of what an operator was given.
TEST(NativeDepth, GroupsAndOperatorsOfUnknownInputsHaveTheBoundOfTheirDepth) {
  EXPECT_THAT(Operator({.layers_before = 8, .is_group = true}).input(0.001).output(0.0119).judged(),
              ElementsAre(kPass, kPass));
  EXPECT_THAT(Operator(kEighth).row(Direction::parameter, 0.0001).output(0.0119).judged(),
              ElementsAre(kPass, kPass));
  // Golden is all zeros: its ULPs fail the input, its error says nothing of the output.
  EXPECT_THAT(Operator(kEighth).input(std::monostate()).output(0.0119).judged(), ElementsAre(kFail, kPass));
}

TEST(NativeDepth, SingleElementsDriftToo) {
  Head head;
  NodeResult node{"op", 0, {}, {}, kEighth};
  Comparison& row = node.rows.emplace_back();
  row.mine = {"x", TensorMeta{DType::f16, Shape{{64}}}, {}};
  row.golden = row.mine;
  row.evidence = Evidence::elements;
  head.metric_columns = {"nonfinite_mismatch", "ulp_max", "rel_l2", "max_abs", "golden_rms", "worst_golden"};
  const RuleOptions options;
  const auto level = [&](double max_abs) {
    row.metrics = {int64_t{0}, int64_t{1000}, 0.001, max_abs, 1.0, 1.0};
    native_rules.prepare(head, options)(node);
    return row.verdict.level;
  };
  EXPECT_EQ(level(0.19), kPass);  // 16 * 0.012 * 1
  EXPECT_EQ(level(0.2), kFail);
}

// Of few bits: two typical values in the first layer, and three quarters of its own in any.
TEST(NativeDepth, SingleElementsOfFewBitsDriftButAreNotLost) {
  const auto level = [](DType dtype, const ModelPlace& place, double max_abs, double own) {
    return Operator(place, dtype).output(0.1).element(max_abs, own).judged().front();
  };
  EXPECT_EQ(level(DType::f8e5m2, {}, 1.9, 1), kPass);
  EXPECT_EQ(level(DType::f8e5m2, {}, 2.1, 1), kFail);
  EXPECT_EQ(level(DType::f8e5m2, kEighth, 5.9, 1), kPass);  // 2 * 3
  EXPECT_EQ(level(DType::f8e5m2, kEighth, 6.1, 1), kFail);
  EXPECT_EQ(level(DType::f8e4m3fn, kEighth, 5.9, 1), kPass);
  for (const DType dtype : {DType::f8e5m2, DType::f8e4m3fn}) {
    EXPECT_EQ(level(dtype, kEighth, 7.4, 10), kPass);
    EXPECT_EQ(level(dtype, kEighth, 10, 10), kFail);
  }
}

TEST(NativeDepth, AQuantisedRunHasItsOwnBound) {
  const ModelPlace first = {.is_quantised = true}, late = {.layers_before = 40, .is_quantised = true};
  EXPECT_THAT(Operator(first).output(0.24).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(first).output(0.26).judged(), ElementsAre(kFail));
  EXPECT_THAT(Operator(late).output(0.74).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(late).output(0.76).judged(), ElementsAre(kFail));  // it ends at three quarters
  // Steps of int8 and what was brought along: 2.25 * sqrt(0.125^2 + (2.5 * 0.1)^2) = 0.629.
  EXPECT_THAT(Operator(late).input(0.1).output(0.62).judged(), ElementsAre(kPass, kPass));
  EXPECT_THAT(Operator(late).input(0.1).output(0.64).judged(), ElementsAre(kPass, kFail));
  EXPECT_THAT(Operator(late).input(0.3).output(0.76).judged(), ElementsAre(kPass, kFail));
}

// Nothing was computed before a weight.
TEST(NativeDepth, AWeightHasTheBoundOfItsTypes) {
  const ModelPlace late = {.layers_before = 40, .is_quantised = true};
  EXPECT_THAT(Operator(late).input(0.0039).constant().output(0.24).judged(), ElementsAre(kPass, kPass));
  EXPECT_THAT(Operator(late).input(0.0041).constant().output(0.24).judged(), ElementsAre(kFail, kPass));
  EXPECT_THAT(Operator(late, DType::bf16).input(0.031).constant().judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(kEighth).input(0.0041).constant().judged(), ElementsAre(kFail));
  const ModelPlace compiled = {.layers_before = 8, .is_compiled = true, .coarsest = DType::bf16};
  EXPECT_THAT(Operator(compiled).input(0.0041).constant().judged(), ElementsAre(kFail));
  EXPECT_THAT(Operator(compiled).input(0.0039).constant().judged(), ElementsAre(kPass));
  // One of int8 that was made real has the steps of int8, and no depth.
  PairPlans plans;
  plans.mine = as_it_stands(Side::mine, {0, 0, 0});
  plans.mine.add(PlanOp::dequantise);
  EXPECT_THAT(Operator(late).input(0.24).constant(&plans).judged(), ElementsAre(kPass));
  EXPECT_THAT(Operator(late).input(0.26).constant(&plans).judged(), ElementsAre(kFail));
  // A rule of the user is still told where it stands.
  RuleOptions options;
  options.rules = {*parse_rule("layer == 40")};
  EXPECT_THAT(Operator(late).input(0.5).constant().judged(options), ElementsAre(kPass));
}

TEST(NativeDepth, RulesOfTheUserWin) {
  RuleOptions options;
  options.rules = {*parse_rule("rel_l2 <= 0.001")};
  EXPECT_THAT(Operator(kEighth).output(0.002).judged(options), ElementsAre(kFail));
  options.rules = {*parse_rule("layer == 8 and rel_l2 <= 3 * inherited")};
  EXPECT_THAT(Operator(kEighth).input(0.1).output(0.29).judged(options), ElementsAre(kPass, kPass));
  EXPECT_THAT(Operator(kEighth).input(0.1).output(0.31).judged(options), ElementsAre(kPass, kFail));
  EXPECT_THAT(Operator({}).output(0.0).judged(options), ElementsAre(kFail));  // layer 0
  EXPECT_THAT(columns_needed(options), ElementsAre("rel_l2", "nonfinite_mismatch"));
  options.rules = {*parse_rule("inherited > 0")};
  EXPECT_THAT(columns_needed(options), ElementsAre("rel_l2", "nonfinite_mismatch"));
}

// The same allowance for rows of statistics: the norm may be off by 0.004, times three.
TEST(NativeDepth, StatisticsDriftToo) {
  Stated mine, golden;
  mine.max = mine.min = mine.mean = golden.max = golden.min = golden.mean = 1.0;
  golden.norm = 1.0;
  Item of_mine, of_golden;
  of_mine.stated = &mine;
  of_golden.stated = &golden;
  NodeResult node{"op", 0, {}, {}, kEighth};
  Comparison& row = node.rows.emplace_back();
  row.basis = Basis::stated;
  row.mine = {"x", TensorMeta{DType::f16, Shape{{4}}}, {}, &of_mine};
  row.golden = {"x", TensorMeta{DType::f16, Shape{{4}}}, {}, &of_golden};
  row.evidence = Evidence::statistics;
  const Head head;
  const RuleOptions options;
  const auto level = [&](double norm) {
    mine.norm = norm;
    native_rules.prepare(head, options)(node);
    return row.verdict.level;
  };
  EXPECT_EQ(level(1.0119), kPass);
  EXPECT_EQ(level(1.0121), kFail);
}

}  // namespace
}  // namespace assay
