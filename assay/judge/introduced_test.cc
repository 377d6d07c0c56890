// Origins of operators that were run again on what they had been given.
#include "assay/judge/graph_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using G = JudgedGraph;

constexpr double kSame = 0, kOff = 0.5, kDrift = 0.0003;  // of f16: within rounding

std::shared_ptr<const Rerun> rerun(double introduced, double measured, int64_t beyond) {
  Rerun out;
  out.found = {.dtype = DType::f16, .count = 64, .beyond = beyond, .worst = beyond > 0 ? 20.0 : 0.5};
  out.introduced = introduced;
  out.measured = measured;
  out.computed = "LinearOperation";
  return std::make_shared<const Rerun>(std::move(out));
}

G::Row out_of(double error, std::shared_ptr<const Rerun> rerun) {
  G::Row row = G::out(error);
  row.rerun = std::move(rerun);
  return row;
}

TEST(Introduced, WhatItsInputsExplainIsNoOrigin) {
  G graph(false);
  graph.add("softmax", {G::in(0, kDrift), out_of(kOff, rerun(1e-4, kOff, 0))}, {G::given(0)});
  EXPECT_EQ(graph.origin(), "none");
  EXPECT_THAT(graph.reason(),
              HasSubstr("inherited: run again on what it was given, LinearOperation gives this"));
}

TEST(Introduced, WhatTheyDoNotExplainIsOneWhateverTheyAreLike) {
  G graph(false);
  graph.add("first", {G::in(0, kOff), G::out(kOff)}, {G::given(0)});  // wrong before anything was dumped
  graph.add("second", {G::in(0, kOff), out_of(kOff, rerun(0.48, kOff, 60))}, {G::from(0, 0)});
  EXPECT_EQ(graph.origin(), "second");
  EXPECT_THAT(graph.reason(),
              HasSubstr("introduced here: run again on what it was given, LinearOperation is rel_l2 "
                        "0.48 off, 20 times what rounding explains"));
}

// Beside what came in, an error that rounding does not quite explain is not what anybody looks for.
TEST(Introduced, ASmallPartOfWhatCameInIsNone) {
  G graph(false);
  graph.add("first", {G::in(0, kOff), out_of(kOff, rerun(0.01, kOff, 2))}, {G::given(0)});
  EXPECT_EQ(graph.origin(), "none");
  graph.add("second", {G::in(0, kSame), out_of(kOff, rerun(0.01, kOff, 2))}, {G::given(0)});
  EXPECT_EQ(graph.origin(), "second");  // nothing came in
}

TEST(Introduced, IsEstimatedWhereItCouldNotBeRun) {
  Rerun failed;
  failed.why_not = "the parameter axis is missing";
  G graph(false);
  graph.add("gather", {G::in(0, kSame), out_of(kOff, std::make_shared<const Rerun>(failed))}, {G::given(0)});
  EXPECT_EQ(graph.origin(), "gather");
  EXPECT_THAT(graph.reason(), Not(HasSubstr("run again")));
}

TEST(Introduced, IsToldOfWhatPassesAndIsTheOriginOfWhatFailsBehindIt) {
  G graph(false);
  graph.add("early", {G::in(0, kSame), out_of(kDrift, rerun(kDrift, kDrift, 9))}, {G::given(0)});
  EXPECT_THAT(graph.note(), HasSubstr("introduced here"));
  EXPECT_EQ(graph.summary().introduced, 1);
  EXPECT_EQ(graph.origin(), "none");  // nothing fails
  ASSERT_TRUE(graph.summary().first_introduced);
  EXPECT_EQ(graph.summary().first_introduced->node, "early");
  graph.add("late", {G::in(0, kSame), G::out(kOff)}, {G::given(0)});
  EXPECT_EQ(graph.origin(), "early");
  EXPECT_THAT(graph.not_compared(), IsEmpty());
}

}  // namespace
}  // namespace assay
