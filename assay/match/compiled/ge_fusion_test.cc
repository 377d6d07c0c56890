// Runs of one graph with and without fusion.
#include "assay/match/compiled/torchair.h"
#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;

Texts matched(Frame mine, Frame golden) {
  return explained_pairs(match_frames(ge_fusion_matcher, std::move(mine), std::move(golden), {}));
}

std::shared_ptr<Graph> mul_and_add() {
  return make_graph(
      {{"x"}, {"y"}, {"z"}, {"Mul", "Mul", {{"x", 0}, {"y", 0}}}, {"Add", "Add", {{"Mul", 0}, {"z", 0}}}});
}

Frame fused(std::shared_ptr<const Graph> graph) {
  return make_graph_frame("ge", {{"MulAdd", "AutomaticBufferFusionOp", {{0}, {1}, {2}}, {{0}}}},
                          std::move(graph));
}

Frame plain(std::shared_ptr<const Graph> graph = nullptr) {
  return make_graph_frame("ge", {{"Mul", "Mul", {{0}, {1}}, {{0}}}, {"Add", "Add", {{0}, {1}}, {{0}}}},
                          std::move(graph));
}

TEST(GeFusion, OperatorsOfTheSameName) {
  EXPECT_THAT(matched(plain(), plain()),
              ElementsAre("Mul.input.0|Mul.input.0 same name", "Mul.input.1|Mul.input.1 same name",
                          "Mul.output.0|Mul.output.0 same name", "Add.input.0|Add.input.0 same name",
                          "Add.input.1|Add.input.1 same name", "Add.output.0|Add.output.0 same name"));
}

TEST(GeFusion, MineIsFused) {
  EXPECT_THAT(matched(fused(mul_and_add()), plain()),
              ElementsAre("MulAdd.input.0|Mul.input.0 fused from", "MulAdd.input.1|Mul.input.1 fused from",
                          "-|Mul.output.0", "-|Add.input.0", "MulAdd.input.2|Add.input.1 fused from",
                          "MulAdd.output.0|Add.output.0 fused from"));
}

TEST(GeFusion, GoldenIsFused) {
  EXPECT_THAT(matched(plain(), fused(mul_and_add())),
              ElementsAre("Mul.input.0|MulAdd.input.0 fused from", "Mul.input.1|MulAdd.input.1 fused from",
                          "Mul.output.0|-", "Add.input.0|-", "Add.input.1|MulAdd.input.2 fused from",
                          "Add.output.0|MulAdd.output.0 fused from"));
}

// Only the last of the operators was dumped: its own input is known, the others are not.
TEST(GeFusion, AnOperatorThatWasNotDumpedLeavesItsInputsAlone) {
  EXPECT_THAT(
      matched(fused(mul_and_add()), make_graph_frame("ge", {{"Add", "Add", {{0}, {1}}, {{0}}}})),
      ElementsAre("MulAdd.input.0|-", "MulAdd.input.1|-", "-|Add.input.0",
                  "MulAdd.input.2|Add.input.1 fused from", "MulAdd.output.0|Add.output.0 fused from"));
}

TEST(GeFusion, WithoutAGraphNamesAreAllThereIs) {
  EXPECT_THAT(matched(fused(nullptr), make_graph_frame("ge", {{"Add", "Add", {}, {{0}}}})),
              ElementsAre("-|Add.output.0", "MulAdd.input.0|-", "MulAdd.input.1|-", "MulAdd.input.2|-",
                          "MulAdd.output.0|-"));
}

TEST(GeFusion, WhatTheCompilerPutIn) {
  EXPECT_THAT(matched(make_graph_frame("ge", {{"trans_Cast", "Cast", {{0}}, {{0}}}}, mul_and_add()),
                      make_graph_frame("ge", {})),
              ElementsAre("trans_Cast.output.0|trans_Cast.input.0 own input"));
  // The same on both sides: each against the other.
  EXPECT_THAT(matched(make_graph_frame("ge", {{"trans_Cast", "Cast", {}, {{0}}}}, mul_and_add()),
                      make_graph_frame("ge", {{"trans_Cast", "Cast", {}, {{0}}}})),
              ElementsAre("trans_Cast.output.0|trans_Cast.output.0 same name"));
}

// Golden's graph knows a Cast that mine's does not: what golden fused it into must keep its row.
TEST(GeFusion, AnOwnInputTakesNoPartnerAway) {
  const auto graph = make_graph({{"x"}, {"c_Cast", "Cast", {{"x", 0}}}, {"Add", "Add", {{"c_Cast", 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"c_Cast", "Cast", {{0}}, {{0}}}}, mul_and_add()),
                      make_graph_frame("ge", {{"c_CastAdd", "", {{0}}, {{0}}}}, graph)),
              ElementsAre("c_Cast.input.0|c_CastAdd.input.0 fused from", "-|c_CastAdd.output.0",
                          "c_Cast.output.0|c_Cast.input.0 own input"));
}

std::shared_ptr<const Graph> mul_add_relu() {
  return make_graph({{"x"},
                     {"y"},
                     {"Mul", "Mul", {{"x", 0}, {"y", 0}}},
                     {"Add", "Add", {{"Mul", 0}, {"y", 0}}},
                     {"Relu", "Relu", {{"Add", 0}}}});
}

// Each side fused what the other did not: Mul's result was never in golden's memory, Add's never in mine.
TEST(GeFusion, BothAreFusedDifferently) {
  EXPECT_THAT(
      matched(
          make_graph_frame("ge", {{"Mul", "Mul", {{0}, {1}}, {{0}}}, {"AddRelu", "Fused", {{0}, {1}}, {{0}}}},
                           mul_add_relu()),
          make_graph_frame("ge",
                           {{"MulAdd", "Fused", {{0}, {1}, {2}}, {{0}}}, {"Relu", "Relu", {{0}}, {{0}}}},
                           mul_add_relu())),
      ElementsAre("Mul.input.0|MulAdd.input.0 fused from", "Mul.input.1|MulAdd.input.1 fused from",
                  "Mul.output.0|-", "AddRelu.input.0|-", "AddRelu.input.1|MulAdd.input.2 fused from",
                  "-|MulAdd.output.0", "-|Relu.input.0", "AddRelu.output.0|Relu.output.0 fused from"));
}

// Of golden's operators the last was not dumped: the one before it computes something else.
TEST(GeFusion, TheLastOperatorWasNotDumped) {
  EXPECT_THAT(matched(fused(mul_and_add()), make_graph_frame("ge", {{"Mul", "Mul", {{0}, {1}}, {{0}}}})),
              ElementsAre("MulAdd.input.0|Mul.input.0 fused from", "MulAdd.input.1|Mul.input.1 fused from",
                          "-|Mul.output.0", "MulAdd.input.2|-", "MulAdd.output.0|-"));
}

// What a name says first need not run first.
TEST(GeFusion, TheLastIsTheLastOfTheGraph) {
  EXPECT_THAT(matched(make_graph_frame("ge", {{"AddMul", "Fused", {{0}, {1}, {2}}, {{0}}}}, mul_and_add()),
                      make_graph_frame("ge", {{"Add", "Add", {{0}, {1}}, {{0}}}})),
              ElementsAre("-|Add.input.0", "AddMul.input.0|Add.input.1 fused from", "AddMul.input.1|-",
                          "AddMul.input.2|-", "AddMul.output.0|Add.output.0 fused from"));
}

// One side's graph is lost: the other's knows the same operators.
TEST(GeFusion, TheGraphOfEitherSideWillDo) {
  for (const auto& mine_graph : {mul_and_add(), std::shared_ptr<Graph>()})
    EXPECT_THAT(matched(fused(mine_graph), plain(mine_graph == nullptr ? mul_and_add() : nullptr)),
                testing::Contains("MulAdd.output.0|Add.output.0 fused from"));
}

// A tensor that two of the parts take may be handed to the operator once.
TEST(GeFusion, AnInputThatIsGivenOnce) {
  EXPECT_THAT(
      matched(make_graph_frame("ge", {{"MulAdd", "Fused", {{0}, {1}}, {{0}}}}, mul_add_relu()), plain()),
      ElementsAre("MulAdd.input.0|Mul.input.0 fused from", "MulAdd.input.1|Mul.input.1 fused from",
                  "-|Mul.output.0", "-|Add.input.0", "-|Add.input.1",
                  "MulAdd.output.0|Add.output.0 fused from"));
}

// A later graph tells that mine made more of Mul than golden did, and which output is which.
TEST(GeFusion, FusedOperatorsOfTheNameOfAPart) {
  const auto graph = mul_and_add();
  graph->add_fused({.name = "Mul",
                    .type = "Fused",
                    .outputs = {{.origin_name = "Add"}, {.origin_name = "Mul"}, {}},
                    .fused_from = {"Mul", "Add"}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Mul", "Fused", {{0}, {1}, {2}}, {{0}, {1}, {2}}}}, graph),
                      plain(mul_and_add())),
              testing::UnorderedElementsAre(
                  "Mul.input.0|Mul.input.0 fused from", "Mul.input.1|Mul.input.1 fused from", "-|Add.input.0",
                  "Mul.input.2|Add.input.1 fused from", "Mul.output.0|Add.output.0 fused from",
                  "Mul.output.1|Mul.output.0 fused from", "Mul.output.2|-"));
}

// Part of an operator that was cut: it is no whole one.
TEST(GeFusion, ASliceIsNotTheWhole) {
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Mul_lxslice0", "Mul", {}, {{0}}}}, mul_and_add()),
                      make_graph_frame("ge", {{"Mul", "Mul", {}, {{0}}}})),
              testing::UnorderedElementsAre("Mul_lxslice0.output.0|-", "-|Mul.output.0"));
}

TEST(GeFusion, RangesOfEitherSide) {
  const auto in_full = [] { return make_graph_frame("ge", {{"Add", "Add", {}, {{0}}}}); };
  const auto range = [] {
    return make_graph_frame("ge", {{"Add", "Add", {}, {{0, DType::f16, {2}}}, "Add.1_min_max.npz"}});
  };
  EXPECT_THAT(matched(in_full(), range()), ElementsAre("Add.output.0|Add.output.0 same name, range of mine"));
  EXPECT_THAT(matched(range(), in_full()),
              ElementsAre("Add.output.0|Add.output.0 same name, range of golden"));
  EXPECT_THAT(matched(range(), range()), ElementsAre("Add.output.0|Add.output.0 same name"));
}

}  // namespace
}  // namespace assay
