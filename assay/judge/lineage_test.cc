#include "assay/judge/lineage.h"

#include "assay/judge/graph_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Level kPass = Level::pass, kFail = Level::fail, kIgnored = Level::ignored;
using G = JudgedGraph;

// f16: T is 0.004, the bound of the first layer of a graph 0.008, and what is over T must have come in.
TEST(Lineage, OutputsOfProducersAreInputs) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::out(0.003)}, {G::given(0)}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("b", {G::out(0.0074)}, {G::from(0, 0), G::given(1)}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("c", {G::out(0.0076)}, {G::from(0, 0), G::given(1)}), ElementsAre(kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("rel_l2 0.0076 > 0.0075 (2.5 * inherited)"));
  // What nobody computed has no error.
  EXPECT_THAT(graph.add("d", {G::out(0.0041)}, {G::given(0)}), ElementsAre(kFail));
}

TEST(Lineage, OwnInputsComeFirst) {
  G graph;
  graph.add("a", {G::out(0.007)}, {});
  EXPECT_THAT(graph.add("b", {G::in(0, 0.001), G::out(0.005)}, {G::from(0, 0)}), ElementsAre(kPass, kFail));
  // One that has no partner is told by its producer.
  EXPECT_THAT(graph.add("c", {G::in(0, 0.001), G::alone(1), G::out(0.005)}, {G::given(0), G::from(1, 0)}),
              ElementsAre(kPass, kIgnored, kPass));
}

TEST(Lineage, WhatIsNotKnownIsNoJump) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::out(0.007)}, {}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("b", {G::out(0.007)}, {G::given(0), G::unknown(1)}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("c", {G::out(0.007)}, {G::from(0, 77)}), ElementsAre(kPass));
}

// Inputs were dumped and nothing else: a result is seen where it is used.
TEST(Lineage, InputsAreTheResultsOfProducers) {
  G graph;
  EXPECT_THAT(graph.add("a", {G::in(0, 0.001)}, {G::given(0)}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("b", {G::in(0, 0.005)}, {G::from(0, 0)}), ElementsAre(kFail));
  EXPECT_THAT(graph.add("c", {G::in(0, 0.002)}, {G::given(0)}), ElementsAre(kPass));
  EXPECT_THAT(graph.add("d", {G::in(0, 0.0049)}, {G::from(0, 2)}), ElementsAre(kPass));
}

// x - mean(x): both inputs are 50 times as large as the result, and so are their errors beside it.
TEST(Lineage, SumsThatCancelKeepTheErrorsOfTheirInputs) {
  const ModelPlace sum{.is_sum = true};
  G graph;
  graph.add("x", {G::out(0.0005, 5)}, {});
  const auto difference = [&](double error, ModelPlace place) {
    return graph.add("Sub", {G::in(0, 0.0005, 5), G::in(1, 0.0003, 5), G::out(error, 0.1)},
                     {G::from(0, 0), G::unknown(1)}, place);
  };
  EXPECT_THAT(difference(0.043, sum), ElementsAre(kPass, kPass, kPass));  // 50 * 0.0008 + 0.004
  EXPECT_THAT(difference(0.045, sum), ElementsAre(kPass, kPass, kFail));
  EXPECT_THAT(graph.reason(), HasSubstr("rel_l2 0.045 > 0.044 (max(0.008 * sqrt(1 + layer), amplified))"));
  EXPECT_THAT(difference(0.043, {}), ElementsAre(kPass, kPass, kFail));
}

// Sums of 8 terms of size 1 are 2.83 on average; where they are a quarter of that, errors weigh four times.
TEST(Lineage, ProductsThatCancelMayExceedTheBound) {
  const auto product = [](double error, double rms) {
    G graph;
    return graph.add("MatMul", {G::in(0, 0.003), G::in(1, 0.003), G::out(error, rms)},
                     {G::given(0), G::given(1)}, {.is_product = true});
  };
  EXPECT_THAT(product(0.035, 0.707), ElementsAre(kPass, kPass, kPass));  // 1.5 * 4 * 0.006
  EXPECT_THAT(product(0.037, 0.707), ElementsAre(kPass, kPass, kFail));
  EXPECT_THAT(product(0.0081, 1.5), ElementsAre(kPass, kPass, kFail));  // little cancels
}

TEST(Lineage, WhatWasAmplifiedMayBeHandedOn) {
  G graph;
  graph.add("Sub", {G::in(0, 0.0008, 5), G::out(0.04, 0.1)}, {G::given(0)}, {.is_sum = true});
  EXPECT_THAT(graph.add("Mul", {G::in(0, 0.04, 0.1), G::in(1, 0.04, 0.1), G::out(0.08, 0.01)},
                        {G::from(0, 0), G::from(1, 0)}),
              ElementsAre(kPass, kPass, kPass));
  EXPECT_THAT(graph.add("Faulty", {G::in(0, 0.04, 0.1), G::out(0.11, 0.1)}, {G::from(0, 0)}),
              ElementsAre(kPass, kFail));
  EXPECT_THAT(graph.add("Other", {G::in(0, 0.08, 0.1)}, {G::from(0, 0)}), ElementsAre(kFail));
  // The result of another operator has no such excuse.
  EXPECT_THAT(graph.add("Exp", {G::in(0, 0.04, 0.1)}, {G::given(0)}), ElementsAre(kFail));
}

TEST(Lineage, WhatFailsExcusesNothing) {
  G graph;
  graph.add("Sub", {G::in(0, 0.0008, 5), G::out(0.2, 0.1)}, {G::given(0)}, {.is_sum = true});
  EXPECT_THAT(graph.add("Mul", {G::in(0, 0.2, 0.1), G::out(0.2, 0.1)}, {G::from(0, 0)}),
              ElementsAre(kFail, kFail));
  EXPECT_THAT(graph.add("Add", {G::out(0.3, 0.1), G::in(0, 0.02, 5)}, {G::given(0)}, {.is_sum = true}),
              ElementsAre(kFail, kFail));
  EXPECT_THAT(graph.add("without inputs", {G::out(0.3, 0.01)}, {G::from(0, 0)}, {.is_sum = true}),
              ElementsAre(kFail));
}

}  // namespace
}  // namespace assay
