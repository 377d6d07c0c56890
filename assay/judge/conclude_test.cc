#include "assay/judge/judge.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

Comparison row(std::string_view name, Level level, Status status = Status::compared) {
  Comparison out;
  out.mine.name = name;
  out.golden.name = name;
  out.status = status;
  out.verdict = {level, "because"};
  if (status == Status::compared) out.evidence = Evidence::elements;
  return out;
}

TEST(Findings, CountsByLevelAndStatus) {
  Findings findings;
  findings.add({"n",
                0,
                {},
                {row("a", Level::pass), row("b", Level::fail), row("c", Level::error, Status::unreadable)}});
  findings.add({"m",
                1,
                {},
                {row("d", Level::fail, Status::only_mine), row("e", Level::ignored, Status::only_golden)}});
  const Summary summary = findings.conclude();
  EXPECT_EQ(summary.rows, 5);
  EXPECT_EQ(summary.compared, 2);
  EXPECT_EQ(summary.passed, 1);
  EXPECT_EQ(summary.failed, 2);
  EXPECT_EQ(summary.unmatched, 2);
  EXPECT_EQ(summary.ignored, 1);
  EXPECT_EQ(summary.errors, 1);
  EXPECT_EQ(summary.first_error, "c: because");
}

TEST(Findings, CountWhatNoRowStandsFor) {
  Findings findings;
  findings.note(Remark("something odd"));
  findings.note(left_out("three rows say nothing", 3));
  Comparison with_rest = row("a", Level::pass);
  with_rest.left_out = 1;
  findings.add({"n", 0, {}, {with_rest}});
  EXPECT_EQ(findings.conclude().left_out, 4);
  EXPECT_EQ(findings.conclude().errors, 0);
  findings.note(unreadable("the folder cannot be read"));
  EXPECT_EQ(answer_of(findings.conclude()), Answer::error);
  EXPECT_EQ(findings.conclude().first_error, "the folder cannot be read");

  Findings all;
  all.add(findings);
  EXPECT_EQ(all.conclude().left_out, 4);
}

TEST(Findings, TensorsWithoutARowAreNotCompared) {
  Findings findings;
  findings.add({"n", 0, {}, {row("a", Level::pass)}});
  findings.pass_over(3);
  EXPECT_EQ(answer_of(findings.conclude()), Answer::not_compared);
}

TEST(Findings, FirstDivergenceFollowsExecutionOrderNotReportOrder) {
  Findings findings("rank 0");
  findings.add({"late", 7, {}, {row("a", Level::fail)}});
  findings.add({"early", 2, {}, {row("b", Level::pass), row("c", Level::fail), row("d", Level::fail)}});
  findings.open("rank 1");
  findings.add({"early too", 2, {}, {row("e", Level::fail)}});
  findings.add({"broken", 0, {}, {row("f", Level::error)}});
  const Summary summary = findings.conclude();
  ASSERT_TRUE(summary.first_divergence);
  EXPECT_EQ(summary.first_divergence->section, "rank 0");
  EXPECT_EQ(summary.first_divergence->node, "early");
  EXPECT_EQ(summary.first_divergence->mine, "c");
  EXPECT_EQ(summary.first_divergence->golden, "c");
  EXPECT_EQ(summary.first_divergence->row.verdict.reason, "because");
}

TEST(Findings, WhatHasNoPartnerIsNoDivergence) {
  const auto alone = [](std::string_view name) { return row(name, Level::fail, Status::only_mine); };
  Findings section("rank 0");
  section.add({"behind", 9, {}, {alone("behind")}});
  section.add({"before", 1, {}, {alone("before")}});
  EXPECT_FALSE(section.conclude().first_divergence);
  EXPECT_THAT(section.conclude().unmatched_before, ::testing::IsEmpty());
  section.add({"differs", 4, {}, {row("differs", Level::fail)}});
  Findings findings;
  findings.add(section);
  const Summary summary = findings.conclude();
  EXPECT_EQ(summary.first_divergence->mine, "differs");
  EXPECT_EQ(summary.first_unmatched->mine, "before");
  EXPECT_THAT(summary.unmatched_before, ::testing::ElementsAre("before (only in mine)"));
  EXPECT_EQ(summary.failed, 3);
}

TEST(Findings, NoDivergenceWhereNothingFails) {
  Findings findings;
  findings.add({"n", 0, {}, {row("a", Level::pass), row("b", Level::error)}});
  EXPECT_FALSE(findings.conclude().first_divergence);
}

TEST(Findings, BrokenSectionsAreErrors) {
  Findings findings;
  findings.open("rank 3");
  findings.broken({ErrorKind::io, "dump.json: cannot be read"});
  findings.broken({ErrorKind::io, "second"});
  const Summary summary = findings.conclude();
  EXPECT_EQ(summary.errors, 2);
  EXPECT_EQ(summary.rows, 0);
  EXPECT_EQ(summary.first_error, "rank 3: dump.json: cannot be read");
}

TEST(Findings, KeepsNoViewOfNamesThatDie) {
  Findings findings;
  {
    const std::string name = "a name that is longer than any small string buffer";
    findings.add({name, 0, {}, {row(name, Level::fail)}});
  }
  const Summary summary = findings.conclude();
  EXPECT_EQ(summary.first_divergence->mine, "a name that is longer than any small string buffer");
  EXPECT_TRUE(summary.first_divergence->row.mine.name.empty());
}

// Files in an order: where errors rise at once something is wrong; where they grow it may be rounding alone.
TEST(Findings, FollowTheTrendOfErrors) {
  const auto origin_of = [](const std::vector<std::pair<double, Level>>& errors) {
    Findings findings;
    findings.follow_trend(0);
    for (size_t i = 0; i < errors.size(); ++i) {
      Comparison each = row(i == 3 ? "third" : "another", errors[i].second);
      each.basis = Basis::data;
      each.metrics = {errors[i].first};
      findings.add({each.mine.name, static_cast<int64_t>(i), {}, {each}});
    }
    const auto origin = findings.conclude().first_origin;
    return origin ? origin->mine + ": " + origin->given : std::string();
  };
  constexpr Level kPass = Level::pass, kFail = Level::fail;
  EXPECT_EQ(origin_of({{.001, kPass}, {.002, kPass}, {.001, kPass}, {.02, kFail}, {.5, kFail}}),
            "third: its error (rel_l2 0.02) is 10 times the largest before it");
  EXPECT_EQ(origin_of({{0, kPass}, {0, kPass}, {0, kPass}, {.02, kFail}}), "third: all before it are equal");
  EXPECT_EQ(origin_of({{.004, kPass}, {.008, kPass}, {.01, kFail}, {.02, kFail}, {.03, kFail}}), "");
  EXPECT_EQ(origin_of({{.004, kPass}, {.009, kFail}, {.012, kFail}, {.24, kFail}}),
            "third: its error (rel_l2 0.24) is 20 times the largest before it");
  EXPECT_EQ(origin_of({{.02, kFail}}), "");
}

}  // namespace
}  // namespace assay
