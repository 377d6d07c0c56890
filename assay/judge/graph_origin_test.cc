// The first origin where the graph says where inputs come from.
#include "assay/judge/graph_test_tools.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using G = JudgedGraph;

TEST(GraphOrigin, ProducersTellWhereInputsWereNotDumped) {
  G graph;
  graph.add("good", {G::out(0.001)}, {G::given(0)});
  graph.add("origin", {G::out(0.5)}, {G::from(0, 0), G::given(1)});
  graph.add("inherits", {G::out(0.5)}, {G::from(0, 1), G::given(1)});
  EXPECT_EQ(graph.origin(), "origin");
}

TEST(GraphOrigin, IsNoOperatorWhoseProducerFails) {
  G graph;
  graph.add("first", {G::out(0.5)}, {G::unknown(0)});
  graph.add("inherits", {G::in(0, 0.001), G::alone(1), G::out(0.5)}, {G::given(0), G::from(1, 0)});
  EXPECT_EQ(graph.origin(), "none");
}

// What was not compared may have brought the difference.
TEST(GraphOrigin, IsNoOperatorWithAnInputThatNobodyCompared) {
  G graph;
  graph.add("faulty, not dumped by golden", {G::in(0, 0.001)}, {G::given(0)});
  graph.add("Add", {G::in(0, 0.001), G::alone(1), G::out(0.5)}, {G::given(0), G::from(1, 0)});
  graph.add("Sub", {G::in(0, 0.001), G::alone(1), G::out(0.5)}, {});
  EXPECT_EQ(graph.origin(), "none");
  graph.add("axis", {G::in(0, 0.001), G::alone(1, DType::i64), G::out(0.5)}, {});
  EXPECT_EQ(graph.origin(), "axis");
}

TEST(GraphOrigin, WeightsAndConstantsAreGiven) {
  G graph;
  graph.add("origin", {G::in(0, 0.001), G::alone(1), G::out(0.5)}, {G::given(0), G::given(1)});
  EXPECT_EQ(graph.origin(), "origin");
}

// Inputs were dumped and nothing else.
TEST(GraphOrigin, IsTheProducerOfABadInput) {
  G graph;
  graph.add("good", {G::in(0, 0.001)}, {G::given(0)});
  graph.add("origin", {G::in(0, 0.001)}, {G::from(0, 0)});
  graph.add("given it", {G::in(0, 0.5)}, {G::from(0, 1)});
  graph.add("inherits", {G::in(0, 0.5)}, {G::from(0, 2)});
  EXPECT_EQ(graph.origin(), "origin");
}

TEST(GraphOrigin, OfABadInputIsNoProducerWithGoodResults) {
  G graph;
  graph.add("good", {G::in(0, 0.001), G::out(0.001)}, {G::given(0)});
  graph.add("reads something else", {G::in(0, 0.5)}, {G::from(0, 0)});
  EXPECT_EQ(graph.origin(), "none");
}

}  // namespace
}  // namespace assay
