#include "assay/dump/atb_round.h"

#include "assay/dump/dump_test_tools.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTitles =
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,"
    "Norm,Tensor Path\n";

class AtbStatistic : public DumpFolder {
 protected:
  Result<Frame> index(std::string_view table) {
    std::ofstream(root_ / "statistic.csv") << table;
    const auto frames = atb_statistic_layout.survey(root_, {});
    if (!frames) return tl::unexpected<Error>(frames.error());
    return atb_statistic_layout.index(frames->frames.at(0), {});
  }
  Result<Frame> index_rows(std::string_view rows) { return index(std::string(kTitles) + std::string(rows)); }
};

TEST_F(AtbStatistic, NamesTensorsAsTheirOperatorsLie) {
  const auto frame = index_rows(
      "0_9,3,Layer,Layer,1,input,0,float16,nd,4x3,1.5,-2,0.25,9.0,/d/atb_dump_data/data/0_9/3/1_Layer/before/"
      "intensor0.bin\n"
      "0_9,3,Layer/Linear,Linear,1_0,output,2,int8,fractal_nz,4,127,-128,N/A,N/A,/d/atb_dump_data/data/0_9/3/"
      "1_Layer/0_Linear/after/outtensor2.bin\n");
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("1_Layer/input.0", "1_Layer/0_Linear/output.2"));
  EXPECT_EQ(frame->content, Content::data);
  const Item& item = frame->nodes[0].items[0];
  EXPECT_EQ(item.meta->dtype, DType::f16);
  EXPECT_EQ(item.meta->shape.text(), "[4, 3]");
  EXPECT_EQ(number_of(item.stated->min), -2);
  EXPECT_EQ(item.stated->shape, "4x3");
  EXPECT_EQ(frame->files[0].path, root_ / "1_Layer/before/intensor0.bin");
  EXPECT_EQ(number_of(frame->nodes[1].items[0].stated->mean), std::nullopt);
  EXPECT_EQ(item.facts, frame->nodes[1].items[0].facts) << "what all rows say alike is kept once";
}

TEST_F(AtbStatistic, IsOfStatisticsWhereTheFirstRowNamesNoFile) {
  const auto frame = index_rows("0_9,0,A,A,0,output,0,float,nd,2,1,0,0.5,1,N/A\n");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->content, Content::statistics);
  EXPECT_FALSE(frame->nodes[0].items[0].data);
}

TEST_F(AtbStatistic, TakesTheLaterOfTwoRowsInThePlaceOfTheFirst) {
  const auto frame = index_rows(
      "0_9,0,A,A,0,output,0,float,nd,2,1,0,0.5,1,N/A\n"
      "0_9,0,B,B,1,output,0,float,nd,2,1,0,0.5,1,N/A\n"
      "0_9,0,A,A,0,output,0,float,nd,2,7,0,0.5,1,N/A\n");
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), ElementsAre("0_A/output.0", "1_B/output.0"));
  EXPECT_EQ(number_of(frame->nodes[0].items[0].stated->max), 7);
}

TEST_F(AtbStatistic, SkipsRowsThatDescribeNoTensor) {
  const auto frame = index_rows(
      "cut off\n"
      "0_9,0,A/B,B,0,output,0,float,nd,2,1,0,0.5,1,N/A\n"
      "0_9,0,A,A,0,output,0,float,nd,2,1,0,0.5,1,N/A\n");
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), ElementsAre("0_A/output.0"));
  EXPECT_THAT(frame->warnings,
              ElementsAre(HasSubstr("2 rows do not describe a tensor, the first at line 2")));
}

// A table may come from anywhere: what it names must lie in the round.
TEST_F(AtbStatistic, FollowsNoPathOutOfTheRound) {
  const auto frame = index_rows(
      "0_9,0,A,A,0,output,0,float,nd,2,1,0,0.5,1,/x/atb_dump_data/data/0_9/0/../../secret.bin\n"
      "0_9,0,A,A,0,output,1,float,nd,2,1,0,0.5,1,/etc/passwd\n"
      "0_9,0,A,A,0,output,2,float,nd,2,1,0,0.5,1,atb_dump_data/data/0_9\n");
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->nodes[0].items.size(), 3u);
  for (const Item& item : frame->nodes[0].items) {
    EXPECT_FALSE(item.data);
    EXPECT_THAT(std::string(item.trouble), HasSubstr("does not lie in a round"));
  }
}

TEST_F(AtbStatistic, KnowsNoMetaOfWhatItCannotRead) {
  const auto frame = index_rows(
      "0_9,0,A,A,0,output,0,undefined(99),nd,2,1,0,0.5,1,N/A\n"
      "0_9,0,A,A,0,output,1,float,nd,4294967296x4294967296,1,0,0.5,1,N/A\n"
      "0_9,0,A,A,0,output,2,float,nd,2x-3,1,0,0.5,1,N/A\n");
  ASSERT_TRUE(frame);
  for (const Item& item : frame->nodes[0].items) EXPECT_EQ(item.meta, nullptr) << item.name;
}

TEST_F(AtbStatistic, HasScalarsWithoutAShape) {
  const auto frame = index_rows("0_9,0,A,A,0,output,0,float,nd,,1,0,0.5,1,N/A\n");
  ASSERT_TRUE(frame);
  ASSERT_NE(frame->nodes[0].items[0].meta, nullptr);
  EXPECT_EQ(frame->nodes[0].items[0].meta->shape.text(), "[]");
}

TEST_F(AtbStatistic, RefusesWhatIsNoTableOfAtb) {
  EXPECT_THAT(atb_statistic_layout.survey(root_, {}).error().message, HasSubstr("holds no statistic.csv"));
  for (const std::string_view table : {"", "Op Type,Op Name,Task ID\n", "\xff\xfe\x00\x01"}) {
    const auto frame = index(table);
    ASSERT_FALSE(frame);
    EXPECT_THAT(frame.error().message, HasSubstr("does not begin with the titles of an ATB dump"));
  }
  const auto empty = index(kTitles);
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->nodes, IsEmpty());
}

}  // namespace
}  // namespace assay
