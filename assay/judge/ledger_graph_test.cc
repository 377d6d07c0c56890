// Accounts of errors where a graph says which results inputs are, and which kind of operator made them.
#include "assay/judge/graph_test_tools.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Level kPass = Level::pass, kFail = Level::fail, kIgnored = Level::ignored;
constexpr ModelPlace kProduct = {.kind = OpKind::product}, kSum = {.kind = OpKind::sum},
                     kView = {.kind = OpKind::view}, kRope = {.kind = OpKind::rope};
using G = JudgedGraph;

// f16: eps is 9.77e-4. A product rounds a quarter of it, on both sides; of 64 elements errors are allowed
// 2 * (1 + 1 / 8) times over, and in a compiled graph what an operator rounds by itself counts twice.
TEST(LedgerGraph, OutputsOfProducersAreInputs) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::out(0.003)}, {}, kProduct), ElementsAre(kPass));
  // 2.25 * sqrt(2 * (eps / 2)^2 + 0.003^2) = 0.00693
  EXPECT_THAT(graph.add("b", {G::out(0.0069)}, {G::from(0, 0), G::given(1)}, kProduct), ElementsAre(kPass));
  EXPECT_THAT(graph.add("c", {G::out(0.007)}, {G::from(0, 0), G::given(1)}, kProduct), ElementsAre(kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("rel_l2 0.007 > allowed 0.0069265"));
  EXPECT_THAT(graph.reason(), HasSubstr("0.000691 of its own and 0.003 of its inputs are expected"));
}

TEST(LedgerGraph, OwnInputsComeFirst) {
  G graph;
  graph.add("a", {G::out(0.007)}, {}, kProduct);
  EXPECT_THAT(graph.add("b", {G::in(0, 0.001), G::out(0.0028)}, {G::from(0, 0)}, kProduct),
              ElementsAre(kPass, kFail));
  // One that has no partner is told by its producer.
  EXPECT_THAT(
      graph.add("c", {G::in(0, 0.001), G::alone(1), G::out(0.0029)}, {G::given(0), G::from(1, 0)}, kProduct),
      ElementsAre(kPass, kIgnored, kPass));
}

TEST(LedgerGraph, DepthDecidesWhereInputsAreNotKnown) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::out(0.007)}, {}, kProduct), ElementsAre(kPass));
  EXPECT_THAT(graph.add("b", {G::out(0.007)}, {G::given(0), G::unknown(1)}, kProduct), ElementsAre(kPass));
  EXPECT_THAT(graph.add("c", {G::out(0.0081)}, {G::from(0, 77)}, kProduct), ElementsAre(kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("0.0081 > 0.008 (0.008 * sqrt(1 + layer))"));
  // … also where one of several is not.
  EXPECT_THAT(graph.add("d", {G::in(0, 0.0001), G::out(0.007)}, {G::given(0), G::unknown(1)}, kProduct),
              ElementsAre(kPass, kPass));
  EXPECT_THAT(graph.add("e", {G::in(0, 0.0001), G::out(0.0082)}, {G::given(0), G::unknown(1)}, kProduct),
              ElementsAre(kPass, kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("not all of its inputs were compared: depth decides"));
}

// The same tensor, whatever the depth of the place where it is used.
TEST(LedgerGraph, AnInputIsJudgedAsWhereItWasMade) {
  G graph;
  graph.add("a", {G::in(0, 0.0004), G::out(0.0009)}, {G::given(0)}, kProduct);
  ModelPlace late = kProduct;
  late.layers_before = 40;
  EXPECT_THAT(graph.add("b", {G::in(0, 0.0009)}, {G::from(0, 0)}, late), ElementsAre(kPass));
  EXPECT_THAT(graph.add("c", {G::in(0, 0.002)}, {G::from(0, 0)}, late), ElementsAre(kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("as where it was made"));
}

// Inputs were dumped and nothing else: a result is seen where it is used.
TEST(LedgerGraph, InputsAreTheResultsOfProducers) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::in(0, 0.001)}, {G::given(0)}, kProduct), ElementsAre(kPass));
  EXPECT_THAT(graph.add("b", {G::in(0, 0.0028)}, {G::from(0, 0)}, kProduct), ElementsAre(kFail));
  EXPECT_THAT(graph.add("c", {G::in(0, 0.0019)}, {G::from(0, 0)}, kProduct), ElementsAre(kPass));
}

// Rotated keys have no counterpart in PyTorch: they are as far off as what was rotated.
TEST(LedgerGraph, WhatWasComparedNowhereIsEstimated) {
  G graph(false);
  graph.add("rope", {G::in(0, 0.002), G::alone_out()}, {G::given(0)}, kRope);
  const auto scores = [&](double error) {
    return graph.add("scores", {G::alone(0), G::out(error)}, {G::from(0, 0)}, kProduct);
  };
  EXPECT_THAT(scores(0.0039), ElementsAre(kIgnored, kPass));
  EXPECT_THAT(scores(0.0045), ElementsAre(kIgnored, kFail));
}

// x - mean(x): both inputs are 50 times as large as the result, and so are their errors beside it.
TEST(LedgerGraph, SumsThatCancelKeepTheErrorsOfTheirInputs) {
  G graph;
  const auto difference = [&](double error, ModelPlace place) {
    return graph.add("Sub", {G::in(0, 0.0005, 5), G::in(1, 0.0003, 5), G::out(error, 0.1)},
                     {G::given(0), G::given(1)}, place);
  };
  EXPECT_THAT(difference(0.065, kSum), ElementsAre(kPass, kPass, kPass));  // 2.25 * 50 * 0.000583
  EXPECT_THAT(difference(0.066, kSum), ElementsAre(kPass, kPass, kFail));
  EXPECT_THAT(difference(0.065, kView), ElementsAre(kPass, kPass, kPass));
}

// Sums of 8 terms of size 1 are 2.83 on average; where they are a quarter of that, errors weigh four times.
TEST(LedgerGraph, ProductsThatCancelHandOnMore) {
  const auto product = [](double error, double rms) {
    G graph;
    return graph.add("MatMul", {G::in(0, 0.003), G::in(1, 0.003), G::out(error, rms)},
                     {G::given(0), G::given(1)}, kProduct);
  };
  EXPECT_THAT(product(0.038, 0.707), ElementsAre(kPass, kPass, kPass));  // 2.25 * 4 * 0.00424
  EXPECT_THAT(product(0.0385, 0.707), ElementsAre(kPass, kPass, kFail));
  EXPECT_THAT(product(0.0385, 2.83), ElementsAre(kPass, kPass, kFail));
  EXPECT_THAT(product(0.0096, 2.83), ElementsAre(kPass, kPass, kPass));
}

TEST(LedgerGraph, WhatACompilerFusedMayRoundAnywhere) {
  ModelPlace fused = {.is_fused = true, .kind = OpKind::elementwise};
  G graph;
  EXPECT_THAT(graph.add("MulAdd", {G::in(0, 0.0), G::out(0.0089)}, {G::given(0)}, fused),
              ElementsAre(kPass, kPass));
  EXPECT_THAT(graph.add("MulAdd", {G::in(0, 0.0), G::out(0.0091)}, {G::given(0)}, fused),
              ElementsAre(kPass, kFail));
}

TEST(LedgerGraph, WhatFailsExcusesNoMoreThanItWasAllowed) {
  G graph;
  graph.add("a", {G::in(0, 0.0004), G::out(0.2)}, {G::given(0)}, kProduct);
  EXPECT_THAT(graph.add("b", {G::in(0, 0.2), G::out(0.2)}, {G::from(0, 0)}, kProduct),
              ElementsAre(kFail, kFail));
  EXPECT_THAT(graph.add("c", {G::out(0.2)}, {G::from(0, 1)}, kProduct), ElementsAre(kFail));
  EXPECT_EQ(graph.origin(), "a");
}

TEST(LedgerGraph, AGroupIsJudgedByWhatIsInside) {
  G graph(false);
  graph.add("linear", {G::in(0, 0.001), G::out(0.0015)}, {G::given(0)}, kProduct);
  const ModelPlace group = {.layers_before = 8, .is_group = true};
  EXPECT_THAT(graph.add("mlp", {G::in(0, 0.001), G::out(0.0119)}, {G::given(0)}, group),
              ElementsAre(kPass, kPass));
}

// int8 of -100 to 100: one step is 0.01 of it.
TEST(LedgerGraph, AQuantisationMayTakeTheNextStep) {
  const ModelPlace quantise = {.kind = OpKind::quantise};
  const auto steps = [](double count) {
    return G::Row{Direction::output, 0, count / 100, 100, Status::compared, DType::i8};
  };
  G graph;
  EXPECT_THAT(graph.add("flip", {G::in(0, 0.001), steps(1)}, {G::given(0)}, quantise),
              ElementsAre(kPass, kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("a flip: inputs agree"));
  EXPECT_EQ(graph.origin(), "none");
  graph.add("fault", {G::in(0, 0.0011), steps(3)}, {G::given(0)}, quantise);
  EXPECT_EQ(graph.origin(), "fault");
}

}  // namespace
}  // namespace assay
