#include "assay/report/verdict_sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

Summary passing(std::initializer_list<std::pair<Evidence, int64_t>> rows) {
  Summary summary;
  for (const auto& [evidence, count] : rows) {
    summary.by[static_cast<size_t>(evidence)] += count;
    summary.rows += count;
    summary.of_mine += count;
    summary.of_golden += count;
    if (evidence != Evidence::nothing) summary.compared += count;
  }
  summary.statistics = 0b1111;
  return summary;
}

std::string said(const Summary& summary) { return verdict_sentence(summary).text(); }

TEST(VerdictSentence, WhatIsUnsureIsNoPlainPass) {
  Summary summary = passing({{Evidence::elements, 3}});
  summary.unsure = 1;
  EXPECT_EQ(said(summary),
            "PASS, but unsure of 1 pair: all 3 tensors agree. 1 pair is unsure, as their notes say.");
  summary.failed = summary.contradicted = 2;
  EXPECT_EQ(
      said(summary),
      "FAIL: 2 of 3 tensors agree with one that names or other layers deny. 1 pair is unsure, as their notes "
      "say.");
}

// Operators that change type or layout only are held against what they were given, for want of golden.
TEST(VerdictSentence, OwnInputsShowNothingOfGolden) {
  Summary summary = passing({{Evidence::elements, 16}, {Evidence::nothing, 6}});
  summary.of_mine = 3;
  summary.of_golden = 3;
  summary.by_own_input = 16;
  EXPECT_EQ(said(summary),
            "NOT COMPARED: no tensor was held against one of golden. 16 tensors were held against what their "
            "operators were given, which change type or layout only, not against golden.");
  summary.of_mine = summary.of_golden = 0;
  EXPECT_EQ(answer_of(summary), Answer::not_compared);
  summary = passing({{Evidence::elements, 3}});
  summary.of_golden = summary.of_mine = 2;
  summary.by_own_input = 1;
  EXPECT_EQ(said(summary),
            "PASS: all 3 tensors agree. 1 tensor was held against what its operator was given, which changes "
            "type or layout only, not against golden.");
}

TEST(VerdictSentence, APassSaysWhatWasCompared) {
  EXPECT_EQ(said(passing({{Evidence::elements, 1}})), "PASS: the tensors agree.");
  EXPECT_EQ(said(passing({{Evidence::elements, 71}})), "PASS: all 71 tensors agree.");
  EXPECT_EQ(said(passing({{Evidence::statistics, 71}})),
            "PASS by statistics only (max, min, mean, norm of 71 tensors; elements were not compared).");
  EXPECT_EQ(
      said(passing({{Evidence::statistics, 71}, {Evidence::value, 3}, {Evidence::nothing, 2}})),
      "PASS by statistics only (max, min, mean, norm of 71 tensors; elements were not compared; 3 arguments "
      "are equal; 2 not compared).");
  EXPECT_EQ(said(passing({{Evidence::checksum, 1}})),
            "PASS by checksum (of 1 tensor; elements were not read).");
  EXPECT_EQ(said(passing({{Evidence::extremes, 2}})),
            "PASS by extremes only (max, min of 2 tensors; other elements were not compared).");
  Summary infinite = passing({{Evidence::extremes, 2}});
  infinite.by_one_extreme = 1;
  EXPECT_EQ(said(infinite),
            "PASS by extremes only (max, min of 2 tensors, of 1 of which only one is finite; other elements "
            "were not compared).");
  EXPECT_EQ(said(passing({{Evidence::some_elements, 2}})),
            "PASS by some positions only (of 2 tensors; other positions were not compared).");
  EXPECT_EQ(said(passing({{Evidence::finite_elements, 2}})),
            "PASS by finite elements only (of 2 tensors; others are NaN or infinite).");
  EXPECT_EQ(
      said(passing({{Evidence::elements, 40}, {Evidence::statistics, 30}, {Evidence::nothing, 2}})),
      "PASS: all 70 compared tensors agree; 30 by statistics only (max, min, mean, norm; elements were not "
      "compared); 2 not compared.");
}

TEST(VerdictSentence, SaysWhoseRulesDecided) {
  Summary summary = passing({{Evidence::elements, 3}});
  summary.judged_by = "msprobe_g3";
  EXPECT_EQ(said(summary),
            "PASS: all 3 tensors agree. Judged by the rules of msprobe_g3, not by assay's own.");
}

TEST(VerdictSentence, APassUnderOtherRulesIsNoPlainPass) {
  Summary summary = passing({{Evidence::elements, 3}});
  summary.rules = "rel_l2 <= 0.5";
  EXPECT_EQ(said(summary), "PASS under your rules (rel_l2 <= 0.5): all 3 tensors agree.");
  summary.unsure = 1;
  EXPECT_TRUE(said(summary).starts_with("PASS under your rules (rel_l2 <= 0.5), but unsure of 1 pair:"));
  summary.unsure = 0;
  Summary by_checksum = passing({{Evidence::checksum, 3}});
  by_checksum.rules = "cosine >= 0.9";
  EXPECT_TRUE(
      said(by_checksum).starts_with("PASS by checksum under your rules (cosine >= 0.9) (of 3 tensors"));
  summary.rules = std::string(50, 'a') + " < 1; " + std::string(50, 'b') + " < 2";
  EXPECT_EQ(said(summary),
            "PASS under your rules (" + std::string(50, 'a') + " < 1; …): all 3 tensors agree.");
}

TEST(VerdictSentence, SaysWhatNoRowStandsFor) {
  Summary summary = passing({{Evidence::elements, 3}});
  summary.left_out = 1;
  EXPECT_EQ(said(summary),
            "PASS: all 3 tensors agree. 1 thing in the dumps was left out; warnings and notes say what.");
  summary.left_out = 2;
  EXPECT_THAT(said(summary), testing::HasSubstr(" 2 things in the dumps were left out;"));
}

TEST(VerdictSentence, NamesOnlyStatisticsThatAllRowsHave) {
  Summary summary = passing({{Evidence::statistics, 4}});
  summary.statistics = 0b1011;
  summary.shared_statistics = 0b0001;
  EXPECT_EQ(said(summary),
            "PASS by statistics only (max of 4 tensors; min, norm of some; elements were not compared).");
  summary.shared_statistics = 0;
  EXPECT_EQ(said(summary),
            "PASS by statistics only (max, min, norm of some of 4 tensors; elements were not compared).");
}

TEST(VerdictSentence, TooLittleIsNoPass) {
  Summary summary = passing({{Evidence::elements, 1}});
  summary.rows = summary.of_golden = 1000;
  summary.unmatched = 999;
  EXPECT_EQ(
      said(summary),
      "NOT COMPARED: 1 of 1000 tensors of golden was compared; 999 have no counterpart (a pass needs 50 %; "
      "--min-compared sets it).");
  EXPECT_EQ(verdict_sentence(summary).answer, Answer::not_compared);
  summary.judged_by = "msit";  // whose commands have no such flag
  EXPECT_THAT(said(summary), testing::EndsWith("999 have no counterpart (a pass needs 50 %)."));
}

TEST(VerdictSentence, AFailureSaysByWhat) {
  Summary summary = passing({{Evidence::statistics, 5}});
  summary.failed = summary.differ = 2;
  EXPECT_EQ(
      said(summary),
      "FAIL: 2 of 5 tensors differ beyond tolerance. Compared by statistics only (max, min, mean, norm of 5 "
      "tensors; elements were not compared).");
  summary.stopped_early = true;
  EXPECT_TRUE(said(summary).ends_with(" Stopped at the first failure; the rest was not compared."));
}

TEST(VerdictSentence, ValuesBesideTensorsAreTold) {
  Summary summary = passing({{Evidence::elements, 5}});
  summary.values_equal = 7;
  EXPECT_EQ(said(summary), "PASS: all 5 tensors agree.");
  summary.values_alone = 1;
  EXPECT_EQ(said(summary), "PASS: all 5 tensors agree. 1 value beside the tensors is on one side only.");
  summary.values_differ = 2;
  summary.other_values = {"epoch"};
  EXPECT_EQ(
      said(summary),
      "PASS: all 5 tensors agree. 2 values beside the tensors differ (epoch, …); 1 is on one side only.");
  summary.values_failed = 3;
  EXPECT_EQ(said(summary), "FAIL: 2 values beside the tensors differ; 1 is on one side only.");
  summary.values_failed = 1;
  summary.values_differ = 0;
  EXPECT_EQ(said(summary), "FAIL: 1 value beside the tensors is on one side only.");
}

}  // namespace
}  // namespace assay
