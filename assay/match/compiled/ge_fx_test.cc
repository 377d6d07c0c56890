// How operators of a compiled graph find the nodes of FX that they compute.
#include "assay/match/compiled/torchair.h"
#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kF16 = DType::f16, kI64 = DType::i64, kI32 = DType::i32;

Matched match(Frame mine, Frame golden) {
  return match_frames(ge_fx_matcher, std::move(mine), std::move(golden), {});
}
Texts matched(Frame mine, Frame golden) { return explained_pairs(match(std::move(mine), std::move(golden))); }

const std::string kAdd = "add-aten.add", kMul = "mul-aten.mul", kSplit = "split-aten.split";

TEST(GeFx, OneOperatorForOneNode) {
  const auto graph = make_graph({{"x"}, {"y"}, {"Add", "Add", {{"x", 0}, {"y", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Add", "Add", {{0}, {1}}, {{0}}}}, graph),
                      make_graph_frame("fx", {{kAdd, "", {{0}, {1}}, {{0}}}})),
              ElementsAre("Add.input.0|add-aten.add.INPUT.0 same origin",
                          "Add.input.1|add-aten.add.INPUT.1 same origin",
                          "Add.output.0|add-aten.add.OUTPUT.0 same origin"));
}

TEST(GeFx, TheSidesMayBeExchanged) {
  const auto graph = make_graph({{"x"}, {"Add", "Add", {{"x", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("fx", {{kAdd, "", {{0}}, {{0}}}}),
                      make_graph_frame("ge", {{"Add", "Add", {{0}}, {{0}}}}, graph)),
              ElementsAre("add-aten.add.INPUT.0|Add.input.0 same origin",
                          "add-aten.add.OUTPUT.0|Add.output.0 same origin"));
}

// None was the second argument: numbers of FX have a gap where the operator has no input.
TEST(GeFx, ArgumentsThatAreNoTensors) {
  const auto graph = make_graph({{"x"}, {"y"}, {"Add", "Add", {{"x", 0}, {"y", 0}}, {{kAdd, 0}}}});
  const auto ge = [&] {
    return make_graph_frame("ge", {{"Add", "Add", {{0, kF16, {4}}, {1, kF16, {8}}}, {}}}, graph);
  };
  EXPECT_THAT(
      matched(ge(), make_graph_frame("fx", {{kAdd, "", {{0, kF16, {4}}, {2, kF16, {8}, true, "n"}}, {}}})),
      ElementsAre("Add.input.0|add-aten.add.INPUT.0 same origin",
                  "Add.input.1|add-aten.add.INPUT.2 same origin"));
  // The input of the operator that stands at the gap has no partner among the arguments.
  EXPECT_THAT(matched(ge(), make_graph_frame("fx", {{kAdd, "", {{1, kF16, {8}, true, "?"}}, {}}})),
              ElementsAre("Add.input.0|-", "Add.input.1|add-aten.add.INPUT.1 same origin"));
}

// A file is lost: the others are placed by their numbers, and where these do not tell, they are left alone.
TEST(GeFx, ALostArgumentMovesNoOther) {
  const auto graph =
      make_graph({{"x"}, {"y"}, {"z"}, {"Cat", "Concat", {{"x", 0}, {"y", 0}, {"z", 0}}, {{kAdd, 0}}}});
  const auto ge = [&] { return make_graph_frame("ge", {{"Cat", "Concat", {{0}, {1}, {2}}, {}}}, graph); };
  const auto fx = [](std::vector<TestTensor> inputs) {
    return make_graph_frame("fx", {{kAdd, "", std::move(inputs), {}}});
  };
  EXPECT_THAT(matched(ge(), fx({{0}, {2, kF16, {2, 4}, true, "?"}})),
              ElementsAre("Cat.input.0|add-aten.add.INPUT.0 same origin", "Cat.input.1|-",
                          "Cat.input.2|add-aten.add.INPUT.2 same origin"));
  EXPECT_THAT(matched(ge(), fx({{1, kF16, {2, 4}, true, "?"}, {2}})),
              ElementsAre("Cat.input.0|-", "Cat.input.1|add-aten.add.INPUT.1 same origin",
                          "Cat.input.2|add-aten.add.INPUT.2 same origin"));
  // None, too, where the operator has no input.
  EXPECT_THAT(matched(ge(), fx({{0}, {3, kF16, {2, 4}, true, "n?"}})),
              ElementsAre("Cat.input.0|add-aten.add.INPUT.0 same origin", "Cat.input.1|-",
                          "Cat.input.2|add-aten.add.INPUT.3 same origin"));
  // More arguments than inputs: any of the others may be one that the operator does not have.
  EXPECT_THAT(matched(ge(), fx({{0}, {2, kF16, {2, 4}, true, "?"}, {3}})),
              testing::Not(testing::Contains(HasSubstr("origin"))));
}

// Types and sizes tell where the order is another one.
TEST(GeFx, ArgumentsThatTheOperatorDoesNotHave) {
  const auto graph = make_graph({{"x"}, {"y"}, {"Op", "Op", {{"x", 0}, {"y", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(
      matched(make_graph_frame("ge", {{"Op", "Op", {{0, kF16, {4}}, {1, kI32, {3}}}, {}}}, graph),
              make_graph_frame("fx", {{kAdd, "", {{0, kF16, {4}}, {1, kF16, {}}, {2, kI64, {3}}}, {}}})),
      ElementsAre("Op.input.0|add-aten.add.INPUT.0 same origin", "-|add-aten.add.INPUT.1",
                  "Op.input.1|add-aten.add.INPUT.2 same origin"));
}

// An axis that the compiler made a constant of may count from the other end; it is not compared.
TEST(GeFx, SettingsAreNotCompared) {
  const auto graph =
      make_graph({{"x"}, {"axis", "Const"}, {"Sum", "ReduceSum", {{"x", 0}, {"axis", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(
      matched(make_graph_frame("ge", {{"Sum", "", {{0}, {1, kI32, {1}}}, {}}}, graph),
              make_graph_frame("fx", {{kAdd, "", {{0}, {1, kI64, {1}}}, {}}})),
      ElementsAre("Sum.input.0|add-aten.add.INPUT.0 same origin", "-|add-aten.add.INPUT.1", "Sum.input.1|-"));
}

// No argument fits, but the graph says whose result the input is.
TEST(GeFx, AnInputMayBeTheResultOfItsProducer) {
  const auto graph = make_graph({{"Mul", "Mul", {}, {{kMul, 0}}}, {"Add", "Add", {{"Mul", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Add", "", {{0, kF16, {8}}}, {{0}}}}, graph),
                      make_graph_frame(
                          "fx", {{kMul, "", {}, {{0, kF16, {8}}}}, {kAdd, "", {{0, kI64, {3}}}, {{0}}}})),
              ElementsAre("Add.input.0|mul-aten.mul.OUTPUT.0 producer", "-|add-aten.add.INPUT.0",
                          "Add.output.0|add-aten.add.OUTPUT.0 same origin"));
}

TEST(GeFx, SeveralOutputs) {
  // The graph says that the second output is the first result; the third says nothing and its number is
  // taken.
  const auto graph = make_graph({{"Split", "Split", {}, {{kSplit, 1}, {kSplit, 0}, {"", 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Split", "", {}, {{0}, {1}, {2}, {3}}}}, graph),
                      make_graph_frame("fx", {{kSplit, "", {}, {{0}, {1}, {2}}}})),
              ElementsAre("Split.output.0|split-aten.split.OUTPUT.1 same origin",
                          "Split.output.1|split-aten.split.OUTPUT.0 same origin",
                          "Split.output.2|split-aten.split.OUTPUT.2 same origin", "Split.output.3|-"));
  // … unless another operator computes the result of that number.
  const auto shared =
      make_graph({{"Split", "", {}, {{kSplit, 0}, {"", 0}}}, {"Other", "", {}, {{kSplit, 1}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"Split", "", {}, {{0}, {1}}}}, shared),
                      make_graph_frame("fx", {{kSplit, "", {}, {{0}, {1}}}})),
              ElementsAre("Split.output.0|split-aten.split.OUTPUT.0 same origin",
                          "-|split-aten.split.OUTPUT.1", "Split.output.1|-"));
}

// Inputs come from outside, each belongs to the node that takes it; outputs are those of the last.
TEST(GeFx, FusedOperators) {
  const auto graph = make_graph({{"x"},
                                 {"y"},
                                 {"z"},
                                 {"Mul", "Mul", {{"x", 0}, {"y", 0}}, {{kMul, 0}}},
                                 {"Add", "Add", {{"z", 0}, {"Mul", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{"MulAdd", "Fused", {{0}, {1}, {2}}, {{0}}}}, graph),
                      make_graph_frame("fx", {{kMul, "", {{0}, {1}}, {{0}}}, {kAdd, "", {{0}, {1}}, {{0}}}})),
              ElementsAre("MulAdd.input.0|mul-aten.mul.INPUT.0 fused from",
                          "MulAdd.input.1|mul-aten.mul.INPUT.1 fused from", "-|mul-aten.mul.OUTPUT.0",
                          "MulAdd.input.2|add-aten.add.INPUT.0 fused from", "-|add-aten.add.INPUT.1",
                          "MulAdd.output.0|add-aten.add.OUTPUT.0 fused from"));
}

std::shared_ptr<const Graph> mul_and_add(const GraphOp& fused) {
  auto graph = make_graph({{"x"},
                           {"y"},
                           {"Mul", "Mul", {{"x", 0}, {"y", 0}}, {{kMul, 0}}},
                           {"Add", "Add", {{"Mul", 0}, {"y", 0}}, {{kAdd, 0}}}});
  graph->add_fused(fused);
  return graph;
}

Frame fx_of_mul_and_add() {
  return make_graph_frame("fx", {{kMul, "", {{0}, {1}}, {{0}}}, {kAdd, "", {{0}, {1}}, {{0}}}});
}

// The fused operator has the name of its first part; a later graph tells.
TEST(GeFx, AFusedOperatorOfTheNameOfAPart) {
  const auto graph = mul_and_add({.name = "Mul", .type = "Fused", .fused_from = {"Add", "Mul"}});
  EXPECT_THAT(
      matched(make_graph_frame("ge", {{"Mul", "Fused", {{0}, {1}, {2}}, {{0}}}}, graph), fx_of_mul_and_add()),
      ElementsAre("Mul.input.0|mul-aten.mul.INPUT.0 fused from",
                  "Mul.input.1|mul-aten.mul.INPUT.1 fused from", "-|mul-aten.mul.OUTPUT.0",
                  "-|add-aten.add.INPUT.0", "Mul.input.2|add-aten.add.INPUT.1 fused from",
                  "Mul.output.0|add-aten.add.OUTPUT.0 fused from"));
}

TEST(GeFx, EachOutputOfAFusedOperatorByItsOrigin) {
  const auto graph =
      mul_and_add({.name = "kern",
                   .type = "Fused",
                   .outputs = {{.origin_name = "Mul"}, {.origin_name = "Add"}, {.origin_name = "gone"}},
                   .fused_from = {"Mul", "Add"}});
  EXPECT_THAT(
      matched(make_graph_frame("ge", {{"kern", "Fused", {}, {{0}, {1}, {2}, {3}}}}, graph),
              make_graph_frame("fx", {{kMul, "", {}, {{0}}}, {kAdd, "", {}, {{0}}}})),
      ElementsAre("kern.output.0|mul-aten.mul.OUTPUT.0 fused from",
                  "kern.output.1|add-aten.add.OUTPUT.0 fused from", "kern.output.2|-", "kern.output.3|-"));
}

TEST(GeFx, WhatTheCompilerPutInIsHeldAgainstItsOwnInput) {
  const auto graph = make_graph({{"Add", "Add", {}, {{kAdd, 0}}}});
  const Texts pairs = matched(make_graph_frame("ge",
                                               {{"trans_Cast_1", "Cast", {{0}}, {{0}}},
                                                {"trans_TransData_2", "TransData", {{0}}, {{0}}},
                                                {"trans_Cast_1#1", "Cast", {{0}}, {{0}}},
                                                {"Memcpy", "Memcpy", {{0}}, {{0}}}},
                                               graph),
                              make_graph_frame("fx", {{kAdd, "", {}, {{0}}}}));
  EXPECT_THAT(pairs,
              ElementsAre("-|add-aten.add.OUTPUT.0", "trans_Cast_1.output.0|trans_Cast_1.input.0 own input",
                          "trans_TransData_2.output.0|trans_TransData_2.input.0 own input",
                          "trans_Cast_1#1.input.0|-", "trans_Cast_1#1.output.0|-",  // a second file of it
                          "Memcpy.input.0|-", "Memcpy.output.0|-"));
}

TEST(GeFx, WithoutAGraphNothingIsPaired) {
  const Matched found = match(make_graph_frame("ge", {{"Add", "", {}, {{0}}}}),
                              make_graph_frame("fx", {{kAdd, "", {}, {{0}}}}));
  EXPECT_THAT(pairs_of(found), ElementsAre("-|add-aten.add.OUTPUT.0", "Add.output.0|-"));
  EXPECT_THAT(found.pairing.warnings, ElementsAre(HasSubstr("mine has no graph")));
}

// One result of mine, in full, against an output in full and an input of which a range is left: a plan is
// for its own pair alone.
TEST(GeFx, ARangeOfOnePairIsNotThatOfAnother) {
  const auto graph = make_graph({{"Mul", "Mul", {}, {{kMul, 0}}}, {"Add", "Add", {{"Mul", 0}}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("fx", {{kMul, "", {}, {{0}}}, {kAdd, "", {}, {{0}}}}),
                      make_graph_frame("ge",
                                       {{"Mul", "", {}, {{0}}},
                                        {"Add", "", {{0, kF16, {2}}}, {{0, kF16, {2}}}, "Add_min_max.npz"}},
                                       graph)),
              ElementsAre("mul-aten.mul.OUTPUT.0|Mul.output.0 same origin",
                          "mul-aten.mul.OUTPUT.0|Add.input.0 producer, range of mine",
                          "add-aten.add.OUTPUT.0|Add.output.0 same origin, range of mine"));
}

// Numbers of arguments come from names of files; each of these would leave a gap of 999.
TEST(GeFx, NumbersWithHugeGapsTakeNoMemory) {
  const auto graph = make_graph({{"x"}, {"Add", "Add", {{"x", 0}}, {{kAdd, 0}}}});
  TestNode node{kAdd, "", {}, {{0}}};
  for (int i = 0; i < 200'000; ++i) node.inputs.push_back({i * 999, kI64, {7}});
  node.inputs.push_back({999'999'999, kF16, {2, 4}});
  const Matched found =
      match(make_graph_frame("ge", {{"Add", "", {{0}}, {{0}}}}, graph), make_graph_frame("fx", {node}));
  EXPECT_EQ(found.pairing.nodes.at(0).pairs.size(), 200'002U);
}

// An operator of very many inputs and results; a cost that grows with their square ends at the time limit of
// the test.
TEST(GeFx, VeryManyInputsAndOutputs) {
  constexpr int kMany = 60'000;
  TestGeOp op{"Add"};
  TestNode ge{"Add"}, fx{kAdd};
  for (int i = 0; i < kMany; ++i) {
    op.inputs.push_back({"x", 0});
    op.results.emplace_back(kAdd, i);
    for (TestNode* node : {&ge, &fx}) {
      node->inputs.push_back({i});
      node->outputs.push_back({i});
    }
  }
  const auto graph = make_graph({{"x"}, op});
  const Matched found = match(make_graph_frame("ge", {ge}, graph), make_graph_frame("fx", {fx}));
  EXPECT_THAT(reasons_of(found), testing::Each(Why::same_origin));
  EXPECT_EQ(reasons_of(found).size(), size_t{2 * kMany});
}

// "aaaa…" is made of thousands of operators `a`, each with thousands of inputs.
TEST(GeFx, AFusedNameThatRepeatsItself) {
  TestGeOp op{"a"};
  for (int i = 0; i < 10'000; ++i) op.inputs.push_back({fmt::format("in_{}", i), 0});
  const auto graph = make_graph({op, {"Add", "", {}, {{kAdd, 0}}}});
  EXPECT_THAT(matched(make_graph_frame("ge", {{std::string(4000, 'a'), "", {{0}}, {{0}}}}, graph),
                      make_graph_frame("fx", {})),
              testing::SizeIs(2));
}

}  // namespace
}  // namespace assay
