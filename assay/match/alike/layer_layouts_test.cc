#include "assay/match/alike/layer_layouts.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(LayerPattern, TakesOutNumbersOfLayersAndExperts) {
  EXPECT_EQ(layer_pattern("layers.3.mlp.experts.12.w"), "layers.#.mlp.experts.#.w");
  EXPECT_EQ(layer_pattern("h.4.output_0"), "h.#.output_0");
  EXPECT_EQ(layer_pattern("encoder.layer_3.weight"), "encoder.layer_#.weight");
  EXPECT_EQ(layer_pattern("layer3_attn_w"), "layer#_attn_w");
  EXPECT_EQ(layer_pattern("l12.w1"), "l#.w1");
}

TEST(LayerPattern, KeepsNumbersThatTellThingsOfOneLayerApart) {
  EXPECT_NE(layer_pattern("layers.0.fc1.weight"), layer_pattern("layers.0.fc2.weight"));
  EXPECT_NE(layer_pattern("conv1.weight"), layer_pattern("conv2.weight"));
  EXPECT_NE(layer_pattern("1"), layer_pattern("2"));
  EXPECT_NE(layer_pattern("param_00001"), layer_pattern("param_00002"));
  EXPECT_NE(layer_pattern("layers.0.w1.weight"), layer_pattern("layers.0.w3.weight"));
}

using Layout = std::vector<Arrangement>;

Layout transposed(int64_t rows, int64_t columns) {
  return {rearrangements(Shape{{columns, rows}}, Shape{{rows, columns}}).at(1)};
}
Layout as_it_stands(int64_t rows, int64_t columns) {
  return {rearrangements(Shape{{rows, columns}}, Shape{{rows, columns}}).at(0)};
}

TEST(LayerLayouts, OneAgainstThreeIsOutnumbered) {
  const Layout odd = transposed(64, 32), plain = as_it_stands(64, 32);
  ASSERT_EQ(odd[0].text, "{}.T");
  const Shape high{{64, 32}}, wide{{32, 64}};
  const LaidOutParts stands{&plain, {high}, high};
  const std::vector<LaidOutParts> layouts = {stands, {&odd, {wide}, high}, stands, stands};
  const std::vector<LayoutVote> votes = hold_against_each_other(layouts);
  EXPECT_TRUE(votes[0].is_common);
  EXPECT_EQ(votes[0].otherwise, 1u);
  EXPECT_FALSE(votes[1].is_common);
  EXPECT_EQ(votes[1].objection(), "3 of 3 other layers lie otherwise");
}

TEST(LayerLayouts, OfAsManyNobodyKnowsWhichIsRight) {
  const Layout odd = transposed(64, 32), plain = as_it_stands(64, 32);
  const Shape high{{64, 32}}, wide{{32, 64}};
  const std::vector<LaidOutParts> layouts = {{&plain, {high}, high}, {&odd, {wide}, high}};
  for (const LayoutVote& vote : hold_against_each_other(layouts)) EXPECT_FALSE(vote.is_common);
}

TEST(LayerLayouts, ElementsInOrderInAnotherShapeAreOddOnEitherSide) {
  const Layout plain = as_it_stands(64, 32);
  const Layout odd = {rearrangements(Shape{{64, 32}}, Shape{{32, 64}}).at(0)};
  const Shape high{{64, 32}}, wide{{32, 64}};
  const LaidOutParts stands{&plain, {high}, high};
  for (const LaidOutParts& other : {LaidOutParts{&odd, {high}, wide}, LaidOutParts{&odd, {wide}, high}}) {
    const std::vector<LaidOutParts> layouts = {stands, other, stands};
    EXPECT_FALSE(hold_against_each_other(layouts)[1].is_common);
  }
}

TEST(LayerLayouts, OtherShapesMayBeTransposedAlike) {
  const Layout wide = transposed(64, 16), high = transposed(16, 64);
  const std::vector<LaidOutParts> layouts = {{&wide, {Shape{{16, 64}}}, Shape{{64, 16}}},
                                             {&high, {Shape{{64, 16}}}, Shape{{16, 64}}}};
  for (const LayoutVote& vote : hold_against_each_other(layouts)) {
    EXPECT_TRUE(vote.is_common);
    EXPECT_EQ(vote.otherwise, 0u);
  }
}

TEST(LayerLayouts, DimensionsThatWereMergedInOneLayerLieOtherwise) {
  const Shape plane{{64, 32}}, flat{{2048}}, with_one{{64, 1, 32}};
  const Layout in_order = as_it_stands(64, 32);
  const std::vector<LaidOutParts> layouts = {
      {&in_order, {plane}, plane}, {&in_order, {with_one}, plane}, {&in_order, {flat}, plane}};
  const std::vector<LayoutVote> votes = hold_against_each_other(layouts);
  EXPECT_TRUE(votes[0].is_common);
  EXPECT_TRUE(votes[1].is_common);
  EXPECT_FALSE(votes[2].is_common);
}

TEST(LayerLayouts, FlatTensorsOfSeveralShapesLieAlike) {
  const Shape high{{64, 32}}, wide{{32, 64}}, flat{{2048}};
  const Layout in_order = as_it_stands(64, 32);
  const std::vector<LaidOutParts> layouts = {{&in_order, {flat}, high}, {&in_order, {flat}, wide}};
  for (const LayoutVote& vote : hold_against_each_other(layouts)) EXPECT_EQ(vote.otherwise, 0u);
}

}  // namespace
}  // namespace assay
