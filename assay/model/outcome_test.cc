#include "assay/model/outcome.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

Summary compared(int64_t rows, int64_t of_mine, int64_t of_golden) {
  Summary summary;
  summary.rows = std::max(of_mine, of_golden);
  summary.compared = summary.passed = rows;
  summary.of_mine = of_mine;
  summary.of_golden = of_golden;
  return summary;
}

TEST(Answer, APassNeedsHalfOfTheLargerSide) {
  EXPECT_EQ(answer_of(compared(5, 10, 5)), Answer::pass);
  EXPECT_EQ(answer_of(compared(4, 9, 4)), Answer::not_compared);
  EXPECT_EQ(answer_of(compared(4, 4, 9)), Answer::not_compared);
  EXPECT_EQ(answer_of(compared(0, 0, 0)), Answer::not_compared);
  Summary all = compared(9, 10, 10);
  all.least_compared = 1;
  EXPECT_EQ(answer_of(all), Answer::not_compared);
  Summary any = compared(1, 10, 10);
  any.least_compared = 0;
  EXPECT_EQ(answer_of(any), Answer::pass);
  any.compared = 0;
  EXPECT_EQ(answer_of(any), Answer::not_compared);
}

TEST(Answer, TroubleThenDifferencesThenTooLittle) {
  Summary summary = compared(1, 10, 10);
  summary.failed = summary.alone = 9;
  EXPECT_EQ(answer_of(summary), Answer::not_compared);
  summary.differ = 1;
  EXPECT_EQ(answer_of(summary), Answer::fail);
  summary.errors = 1;
  EXPECT_EQ(answer_of(summary), Answer::error);
}

// What --fail-fast leaves out was not looked at: nothing can be said of its share.
TEST(Answer, AFailureEndsAStoppedRun) {
  Summary summary = compared(0, 1, 0);
  summary.failed = summary.alone = 1;
  EXPECT_EQ(answer_of(summary), Answer::not_compared);
  summary.stopped_early = true;
  EXPECT_EQ(answer_of(summary), Answer::fail);
}

// Another shape is a difference that was seen.
TEST(Answer, OtherShapesCountAsSeen) {
  Summary summary = compared(0, 2, 2);
  summary.failed = summary.misshapen = 2;
  EXPECT_EQ(answer_of(summary), Answer::fail);
}

class StatedEvidence : public ::testing::Test {
 protected:
  Comparison& judged() {
    mine_item.stated = &mine;
    golden_item.stated = &golden;
    row.mine.item = &mine_item;
    row.golden.item = &golden_item;
    row.evidence = Evidence::nothing;
    row.statistics = 0;
    note_stated_evidence(false, row);
    return row;
  }
  Stated mine, golden;
  Item mine_item, golden_item;
  Comparison row;
};

TEST_F(StatedEvidence, AChecksumClaimsTypeAndShape) {
  mine.checksum = golden.checksum = "1234abcd";
  row.mine.meta = TensorMeta{DType::f32, Shape{{4}}};
  row.golden.meta = TensorMeta{DType::f32, Shape{{4}}};
  EXPECT_EQ(judged().evidence, Evidence::checksum);
  golden.checksum = "ffffffff";  // they were compared, and differ
  EXPECT_EQ(judged().evidence, Evidence::checksum);
  golden.checksum = mine.checksum;
  row.golden.meta = TensorMeta{DType::i32, Shape{{4}}};
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  row.golden.meta = TensorMeta{DType::f32, Shape{{2, 2}}};
  EXPECT_EQ(judged().evidence, Evidence::nothing);
}

TEST_F(StatedEvidence, NotEveryTextIsAChecksum) {
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{{4}}};
  for (const std::string_view text : {"", "hello", "-nan", "zz", "True", "{}", "3", "1.5", "0x", "0xg",
                                      "1234567", "0x12345678123456781", "1234abcg"}) {
    mine.checksum = golden.checksum = text;
    EXPECT_EQ(judged().evidence, Evidence::nothing) << text;
  }
  for (const std::string_view text :
       {"1234abcd", "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709"}) {
    mine.checksum = golden.checksum = text;
    EXPECT_EQ(judged().evidence, Evidence::checksum) << text;
  }
  for (const std::string_view text : {"0x0", "0x400000003f800000"}) {  // which does not see the order
    mine.checksum = golden.checksum = text;
    EXPECT_EQ(judged().evidence, Evidence::parity) << text;
  }
  mine.checksum = "1234abcd";  // one of another kind
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{}};
  mine.checksum = golden.checksum = "1.5";  // the value of a 0-d tensor
  EXPECT_EQ(judged().evidence, Evidence::checksum);
  mine.checksum = golden.checksum = "nan";
  EXPECT_EQ(judged().evidence, Evidence::nothing);
}

TEST_F(StatedEvidence, NoElementsAreNoEvidence) {
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{{0, 4}}};
  mine.checksum = golden.checksum = "00000000";
  EXPECT_EQ(judged().evidence, Evidence::empty);
}

TEST_F(StatedEvidence, ArgumentsShowTheirValue) {
  const double inf = std::numeric_limits<double>::infinity();
  mine.given = golden.given = Given::argument;
  mine.checksum = golden.checksum = "1ad5be0d";
  mine.max = golden.max = 2;
  EXPECT_EQ(judged().evidence, Evidence::value);
  mine.max = golden.max = inf;
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  golden.max = 3.0;  // which differs
  EXPECT_EQ(judged().evidence, Evidence::value);
  mine = golden = {};
  mine.given = golden.given = Given::nothing;
  mine.checksum = golden.checksum = "00000000";  // of no text
  EXPECT_EQ(judged().evidence, Evidence::nothing);
}

TEST_F(StatedEvidence, OnlyFiniteStatisticsCount) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{{4}}};
  mine.max = golden.max = mine.mean = golden.mean = nan;
  mine.min = golden.min = 1.0;
  EXPECT_EQ(judged().evidence, Evidence::statistics);
  EXPECT_EQ(names_of(judged().statistics), "min");
  mine.min = golden.min = nan;
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  mine.min = golden.min = "none";
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  Nonfinite of_mine{.nans = 1, .infs = 0, .max = 3.0}, of_golden{.nans = 1, .infs = 0, .max = 4.0};
  mine.nonfinite = &of_mine;
  EXPECT_EQ(judged().evidence, Evidence::nothing);
  golden.nonfinite = &of_golden;
  EXPECT_EQ(names_of(judged().statistics), "max");
  // Nothing but NaN: whatever the checksum says of their bits.
  mine.checksum = golden.checksum = "1234abcd";
  of_mine.nans = of_golden.nans = 4;
  EXPECT_EQ(judged().evidence, Evidence::nothing);
}

}  // namespace
}  // namespace assay
