#include "assay/model/plan.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

TEST(Plan, StepsTakeWhatWasMadeSoFar) {
  Plan plan = as_it_stands(Side::mine, {0, 1, 2});
  plan.add_with(PlanOp::dequantise, {{Side::mine, {0, 1, 0}}, {Side::mine, {0, 1, 1}}});
  EXPECT_THAT(plan.steps[0].in, ElementsAre(0, 1, 2));
  plan.cut_in_pieces(0, {2, 6});
  EXPECT_THAT(plan.steps[1].in, ElementsAre(3));
  EXPECT_THAT(plan.steps[2].args, ElementsAre(0, 2, 6));
  EXPECT_THAT(plan.steps[3].in, ElementsAre(4, 5));
  plan.add(PlanOp::weight, {1, 0});
  EXPECT_THAT(plan.steps[4].in, ElementsAre(6));
}

// Operands are numbered sources first: those that come later shift the results.
TEST(Plan, LaterSourcesShiftTheResults) {
  Plan plan = as_it_stands(Side::golden, {});
  plan.add(PlanOp::extremes);
  plan.add_with(PlanOp::rescale, {{Side::golden, {0, 0, 1}}, {Side::golden, {0, 0, 2}}});
  EXPECT_THAT(plan.steps[0].in, ElementsAre(0));
  EXPECT_THAT(plan.steps[1].in, ElementsAre(3, 1, 2));
  EXPECT_EQ(plan.last(), 4);
}

TEST(Plan, PartsAreSourcesThatAreJoinedAsTheyAre) {
  EXPECT_EQ(joined_from(Side::mine, {{0, 0, 0}, {0, 1, 0}}, kLastDimension).parts().size(), 2U);
  Plan pieces = as_it_stands(Side::mine, {});
  pieces.cut_in_pieces(0, {1, 1});
  EXPECT_TRUE(pieces.parts().empty());
  EXPECT_TRUE(as_it_stands(Side::mine, {}).parts().empty());
}

TEST(Plan, AStretchIsNotTurned) {
  const auto is_turned = [](std::vector<int64_t> view) {
    const PlanStep step{PlanOp::view, {0}, std::move(view)};
    return turns_elements({&step, 1});
  };
  EXPECT_FALSE(is_turned({8, 2, 4, 4, 1}));        // [2:4] of rows of four
  EXPECT_FALSE(is_turned({2, 4, 2, 8, 1}));        // [:, 2:4] of rows of eight
  EXPECT_FALSE(is_turned({0, 3, 1, 5, 5, 9, 1}));  // a dimension of one lies anyhow
  EXPECT_TRUE(is_turned({0, 4, 2, 1, 4}));         // .T
}

TEST(Plan, WeightsAndAnglesMayNotFit) {
  PairPlans plans;
  EXPECT_FALSE(plans.may_not_fit());
  plans.golden = as_it_stands(Side::golden, {});
  plans.golden.add(PlanOp::extremes);
  EXPECT_FALSE(plans.may_not_fit());
  plans.golden.add(PlanOp::weight, {0, 0});
  EXPECT_TRUE(plans.may_not_fit());
}

}  // namespace
}  // namespace assay
