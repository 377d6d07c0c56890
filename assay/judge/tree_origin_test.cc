// Origins in a tree whose topology says which results inputs are (ATB).
#include "assay/judge/graph_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using G = JudgedGraph;

constexpr double kSame = 0, kOff = 0.5;

TEST(TreeOrigin, IsSureWhereAllInputsWereCompared) {
  G graph(false);
  graph.add("linear", {G::in(0, kSame), G::alone(1), G::out(kOff)}, {G::given(0), G::given(1)});
  EXPECT_EQ(graph.origin(), "linear");
  EXPECT_THAT(graph.not_compared(), IsEmpty());
}

TEST(TreeOrigin, NamesWhatWasNotComparedBeforeIt) {
  G graph(false);
  graph.add("router", {G::in(0, kSame), G::out(kSame)}, {G::given(0)});
  graph.add("softmax", {G::in(0, kSame), G::alone_out()}, {G::from(0, 0)});
  graph.add("sort", {G::alone(0), G::alone_out()}, {G::from(0, 1)});
  graph.add("combine", {G::in(0, kSame), G::alone(1), G::out(kOff)}, {G::given(0), G::from(1, 2)});
  EXPECT_EQ(graph.origin(), "combine");
  EXPECT_THAT(graph.not_compared(), ElementsAre("sort", "softmax"));
}

TEST(TreeOrigin, IsNoOperatorThatWasGivenWhatDiffers) {
  G graph(false);
  graph.add("norm", {G::alone(0), G::out(kOff)}, {G::unknown(0)});
  graph.add("split", {G::alone(0), G::alone_out()}, {G::from(0, 0)});
  graph.add("sum", {G::in(0, kSame), G::alone(1), G::out(kOff)}, {G::given(0), G::from(1, 1)});
  EXPECT_EQ(graph.origin(), "none");
}

TEST(TreeOrigin, NamesAnInputThatNobodyKnowsTheSourceOf) {
  G graph(false);
  graph.add("sum", {G::in(0, kSame), G::out(kOff)}, {G::given(0), G::unknown(1)});
  EXPECT_EQ(graph.origin(), "sum");
  EXPECT_THAT(graph.not_compared(), ElementsAre("sum input 1"));
}

TEST(TreeOrigin, DoesNotAskForWholeNumbers) {
  G graph(false);
  graph.add("gather", {G::in(0, kSame), G::alone(1, DType::i32), G::out(kOff)}, {G::given(0), G::unknown(1)});
  EXPECT_EQ(graph.origin(), "gather");
  EXPECT_THAT(graph.not_compared(), IsEmpty());
}

}  // namespace
}  // namespace assay
