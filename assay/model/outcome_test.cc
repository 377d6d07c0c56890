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

TEST_F(StatedEvidence, OnlyFiniteStatisticsCount) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{{4}}};
  mine.max = golden.max = mine.mean = golden.mean = nan;
  mine.min = golden.min = 1.0;
  EXPECT_EQ(judged().evidence, Evidence::statistics);
  EXPECT_EQ(names_of(judged().statistics), "min");
  mine.min = golden.min = nan;
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
