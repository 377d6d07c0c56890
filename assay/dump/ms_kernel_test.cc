#include "assay/dump/ms_kernel.h"

#include "assay/dump/dump_test_tools.h"
#include "assay/dump/ms_kernel_parts.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kTitles =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,"
    "Avg Value,L2Norm Value\n";

class MsKernel : public DumpFolder {
 protected:
  void put_rows(std::string_view rows, const fs::path& folder = "rank_0/Net/0/3") const {
    put(folder / "statistic.csv", std::string(kTitles) + std::string(rows));
  }

  Result<std::vector<FrameInfo>> survey(const OpenOptions& options = {}) const {
    return ms_kernel_layout.survey(root_, options).map(&Survey::frames);
  }
  Result<Frame> index(const OpenOptions& options = {}) const { return index_first(options); }
  static std::vector<std::string> node_names(const Frame& frame) {
    std::vector<std::string> out;
    for (const Node& node : frame.nodes) out.emplace_back(node.name);
    return out;
  }
};

// The expected fields of this test and the next come from the regular expression in
// docs/formats/ms_kernel.md.
TEST(KernelName, HasFieldsBetweenDots) {
  const auto name = parse_kernel_name("Add.Default_Add-op0.1.2.100.input.0.ND.npy");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->type, "Add");
  EXPECT_EQ(name->key(), "Default_Add-op0.1.input.0");
  EXPECT_EQ(name->timestamp, 100);
  const auto with_type =
      parse_kernel_name("MatMul.Default_MatMul-op4.0.0.17.input.1.DefaultFormat.Float32.npy");
  ASSERT_TRUE(with_type);  // as MindSpore 2.x writes them
  EXPECT_EQ(with_type->key(), "Default_MatMul-op4.0.input.1");
  const auto longer = parse_kernel_name("Add.op.1.2.100.7.8.output.0.1.ND.FLOAT.npy");
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->key(), "op.1.output.0.1.ND");
  EXPECT_EQ(longer->timestamp, 100);
}

TEST(KernelName, IsNothingElse) {
  for (const std::string_view other :
       {"", ".npy", "x.npy", "Functional.linear.0.forward.input.0.npy", "Add.op.1.2.100.output.0.npy",
        "Add.op.1.2.100.outputs.0.ND.npy", "Add.op.1.2.now.output.0.ND.npy", "Add..1.2.100.output.0.ND.npy",
        "Add.op.1.2.100.output.0.ND.pt", "Add.op.1.2.output.0.ND.x.npy", "Add.op.1.2.100.output.x.0.ND.npy",
        "Add.op.1.2.100.output.0..npy", "........", "Add.op.1.2.3.4.5.6.npy"})
    EXPECT_FALSE(parse_kernel_name(other)) << other;
}

TEST(KernelName, TakesTimeStampsOfAnyLength) {
  const auto name = parse_kernel_name("Add.op.1.2.99999999999999999999999.output.0.ND.npy");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->timestamp, INT64_MAX);
}

TEST_F(MsKernel, FindsRanksAndSteps) {
  put("rank_1/Net/0/3/A.a.1.2.5.output.0.ND.npy");
  put("rank_0/Net/0/10/A.a.1.2.5.output.0.ND.npy");
  put("rank_0/Net/0/2/A.a.1.2.5.output.0.ND.npy");
  put("rank_0/Net/1/2/A.b.1.2.5.output.0.ND.npy");
  put("rank_0/graphs/readme.txt");
  const auto frames = survey();
  ASSERT_TRUE(frames) << frames.error().message;
  std::vector<std::string> places;
  for (const FrameInfo& frame : *frames) places.push_back(frame.at.text());
  EXPECT_THAT(places, ElementsAre("rank 0 step 2", "rank 0 step 10", "rank 1 step 3"));
  EXPECT_THAT((*frames)[0].paths, ElementsAre(root_ / "rank_0/Net/0/2", root_ / "rank_0/Net/1/2"));
  EXPECT_EQ(open_dump(root_, {})->layout, &ms_kernel_layout);
}

TEST_F(MsKernel, TakesOnlyTheRanksAndStepsAskedFor) {
  for (const char* place : {"rank_0/Net/0/1", "rank_0/Net/0/2", "rank_7/Net/0/1"})
    put(fs::path(place) / "A.a.1.2.5.output.0.ND.npy");
  OpenOptions options;
  options.ranks = {0, 3};
  EXPECT_THAT(survey(options).value(), SizeIs(2));
  options.steps = {2};
  ASSERT_THAT(survey(options).value(), SizeIs(1));
  EXPECT_EQ(survey(options)->front().at.text(), "rank 0 step 2");
  options.ranks = {9};
  const auto none = survey(options);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("none of its 3 folders with kernels is of a rank and step"));
}

TEST_F(MsKernel, KnowsTheFormsWithoutTheWordRank) {
  put("4/Net/0/1/A.a.1.2.5.output.0.ND.npy");
  put("six/5/0/2/A.a.1.2.5.output.0.ND.npy");
  const auto frames = survey();
  ASSERT_TRUE(frames) << frames.error().message;
  ASSERT_THAT(*frames, SizeIs(2));
  EXPECT_EQ((*frames)[0].at.text(), "rank 4 step 1");
  EXPECT_EQ((*frames)[1].at.text(), "rank 5 step 2");
}

TEST_F(MsKernel, TakesAFolderOfKernelsByItself) {
  put("A.a.1.2.5.output.0.ND.npy");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->at.text(), "");
  EXPECT_THAT(names(*frame), ElementsAre("a.1.output.0"));
}

TEST_F(MsKernel, LeavesOtherFoldersAlone) {
  EXPECT_EQ(ms_kernel_layout.recognise(root_), 0);
  EXPECT_EQ(ms_kernel_layout.recognise(root_ / "nowhere"), 0);
  put("rank_0/Net/0/1/x.npy");
  put("rank_0/Net/0/1/Functional.linear.0.forward.input.0.npy");
  put("rank_0/Net/0/1/statistic.csv", "some,other\ntable,1\n");
  put("some/where/A.a.1.2.5.output.0.ND.npy");  // no rank and step here
  EXPECT_EQ(ms_kernel_layout.recognise(root_), 0);
  put_rows("", "rank_0/Net/0/2");
  EXPECT_GE(ms_kernel_layout.recognise(root_), 80);
}

TEST_F(MsKernel, SaysWhereItExpectsKernels) {
  auto none = survey();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("holds no .npy files and no statistic.csv"));
  put("some/where/A.a.1.2.5.output.0.ND.npy");
  none = survey();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("none in a folder rank_N/net/graph/step"));
}

TEST_F(MsKernel, NumbersEqualKeysByTimeStamp) {
  const fs::path folder = "rank_0/Net/0/3";
  put(folder / "M.mul.3.2.109.output.0.ND.npy");
  put(folder / "M.mul.3.2.95.output.0.ND.npy");
  put(folder / "M.mul.3.2.95.input.1.ND.npy");
  put(folder / "M.mul.3.2.95.input.0.ND.npy");
  put(folder / "A.add.1.2.7.output.0.ND.npy");
  put("rank_0/Net/1/3/M.mul.3.2.100.output.0.ND.npy");  // the same key in another graph
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("add.1.output.0", "mul.3.input.0", "mul.3.input.1", "mul.3.output.0",
                                         "mul.3.output.0#1", "mul.3.output.0#2"));
  EXPECT_THAT(node_names(*frame), ElementsAre("add.1", "mul.3", "mul.3#1", "mul.3#2"));
  const Item& last = frame->nodes[3].items[0];
  ASSERT_TRUE(last.data);
  EXPECT_EQ(frame->files[static_cast<size_t>(last.data->file)].path,
            root_ / "rank_0/Net/0/3/M.mul.3.2.109.output.0.ND.npy");
  EXPECT_EQ(frame->files[static_cast<size_t>(last.data->file)].size, 1);
  EXPECT_EQ(frame->content, Content::data);
  EXPECT_EQ(frame->framework, "mindspore");
  EXPECT_EQ(frame->nodes[1].type, "M");
  EXPECT_EQ(frame->nodes[1].items[1].port.direction, Direction::input);
  EXPECT_EQ(frame->nodes[1].items[1].port.index, 1);
  EXPECT_EQ(last.port.direction, Direction::output);
}

TEST_F(MsKernel, FindsLongNamesInTheMapping) {
  const fs::path folder = "rank_0/Net/0/3";
  put(folder / "123.npy");
  put(folder / "456.npy");
  put(folder / "789.npy");
  put(folder / "A.add.1.2.7.output.0.ND.npy");
  put(folder / "mapping.csv",
      "short,long\n123.npy,M.mul.3.2.9.output.0.ND.npy\n/a/b.c/456,/x.y/M.mul.3.2.8.input.0.ND\nlonely\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("add.1.output.0", "mul.3.input.0", "mul.3.output.0"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("mapping.csv:4: 1 cell where 2 are expected"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("1 .npy files are not named as kernels are; skipped: 789.npy"));
}

TEST_F(MsKernel, PrefersTensorsToStatistics) {
  put("rank_0/Net/0/3/A.add.1.2.7.output.0.ND.Float32.npy");
  put_rows(
      "A,add,1,2,7,output,0,4,float32,\"(4,)\",1,1,1,2\n"
      "T,other,1,2,5,output,0,4,float32,\"(4,)\",1,1,1,2\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("add.1.output.0", "other.1.output.0"));
  EXPECT_TRUE(frame->nodes[0].items[0].data);
  EXPECT_FALSE(frame->nodes[1].items[0].data);  // a tensor that only the table knows is not lost
  EXPECT_EQ(frame->content, Content::data);
}

TEST_F(MsKernel, ReadsStatistics) {
  put_rows(
      "Add,x,1,9,700,input,0,24,float32,\"(2,3)\",0.1,-1.0,0.25,1e39\n"
      "Add,x,1,9,800,output,0,24,float32,\"(2,3)\",nan,-inf,True,null\n"
      "Add,x,1,9,750,output,0,1,Bool,\"(4,)\",True,False,,null\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(frame->warnings, IsEmpty());
  EXPECT_EQ(frame->content, Content::statistics);
  EXPECT_EQ(frame->at.text(), "rank 0 step 3");
  EXPECT_THAT(names(*frame), ElementsAre("x.1.input.0", "x.1.output.0#1", "x.1.output.0"));
  const Item& first = frame->nodes[0].items[0];
  EXPECT_FALSE(first.data);
  EXPECT_EQ(first.stated->max.real(), 0.1);
  EXPECT_EQ(first.stated->norm.real(), 1e39);
  EXPECT_EQ(first.stated->dtype, "float32");
  EXPECT_EQ(first.stated->shape, "(2,3)");
  EXPECT_EQ(first.stated->data_name, "x.1.input.0");
  ASSERT_NE(first.meta, nullptr);
  EXPECT_EQ(first.meta->shape.text(), "[2, 3]");
  ASSERT_NE(first.facts, nullptr);
  ASSERT_THAT(*first.facts, SizeIs(1));
  EXPECT_EQ(first.facts->at(0).key, "csv_file");
  EXPECT_EQ(std::get<std::string>(first.facts->at(0).value),
            (root_ / "rank_0/Net/0/3/statistic.csv").native());
  const Stated& later = *frame->nodes[1].items[0].stated;
  EXPECT_TRUE(std::isnan(*later.max.real()));
  EXPECT_EQ(later.min.real(), -HUGE_VAL);
  EXPECT_EQ(later.mean.real(), 1);
  EXPECT_TRUE(later.norm.is_absent());
  EXPECT_EQ(later.data_name, "x.1.output.0");  // without the number of the call
  EXPECT_TRUE(frame->nodes[2].items[0].stated->mean.is_absent());
}

TEST_F(MsKernel, ARowOfNothingButNullSaysNothing) {
  put_rows(
      "T,full,1,2,5,output,0,4,float32,\"(4,)\",null,null,null,null\n"
      "T,empty,1,2,5,output,0,0,float32,\"(0,4)\",null,null,null,null\n"
      "T,bool,1,2,5,output,0,4,bool,\"(4,)\",True,False,null,null\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_TRUE(frame->nodes[0].items[0].stated->max.is_absent());  // two of them are no evidence of equality
  EXPECT_TRUE(frame->nodes[1].items[0].stated->max.is_absent());
  EXPECT_EQ(frame->nodes[2].items[0].stated->max.real(), 1);
  EXPECT_TRUE(frame->nodes[2].items[0].stated->norm.is_absent());
}

TEST_F(MsKernel, FindsColumnsByTheirTitles) {
  put("rank_0/Net/0/3/statistic.csv",
      "\xEF\xBB\xBFL2Norm Value,Op Name,Task ID,Timestamp,IO,Slot,Max Value\r\n2,x,1,5,input,0,16777217\r\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("x.1.input.0"));
  const Stated& stated = *frame->nodes[0].items[0].stated;
  EXPECT_EQ(stated.norm.integer(), 2);
  EXPECT_EQ(stated.max.integer(), 16777217);  // f32 has no such number
  EXPECT_TRUE(stated.mean.is_absent());
  EXPECT_THAT(all_warnings(*frame), HasSubstr("statistic.csv: has no column 'Avg Value'"));
}

TEST_F(MsKernel, KeepsABadRowWithItsReason) {
  put_rows(
      "T,bad,1,2,5,output,0,4,float32,\"(4,)\",1,one,1,2\n"
      "T,short,1,2,5,output,0,4,float32\n"
      "T,good,1,2,later,output,0,4,float32,\"(4,-1)\",1,1,1,2\n"
      "T,too\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("bad.1.output.0", "short.1.output.0", "good.1.output.0"));
  EXPECT_THAT(frame->nodes[0].items[0].trouble,
              HasSubstr("statistic.csv:2: Min Value is 'one', not a number"));
  EXPECT_THAT(frame->nodes[1].items[0].trouble,
              HasSubstr("statistic.csv:3: the row has 9 cells where its header has 14"));
  EXPECT_THAT(frame->nodes[2].items[0].trouble, IsEmpty());
  EXPECT_EQ(frame->nodes[2].items[0].meta, nullptr);
  EXPECT_THAT(all_warnings(*frame),
              HasSubstr("1 rows do not say which tensor they describe, the first at line 5"));
  EXPECT_THAT(all_warnings(*frame),
              HasSubstr("1 rows have a time stamp that is no number, the first at line 4"));
}

TEST_F(MsKernel, SaysWhyAFolderHoldsNothing) {
  OpenOptions options;
  options.layout = "ms_kernel";
  const fs::path csv = "rank_0/Net/0/3/statistic.csv";
  for (const auto& [text, reason] :
       {std::pair{"", "is empty"},
        std::pair{"1,2,3\n", "does not have the titles 'Op Name' and 'Task ID'"}}) {
    put(csv, text);
    const auto frame = index(options);
    ASSERT_FALSE(frame);
    EXPECT_THAT(frame.error().message, HasSubstr("no tensors of kernels here"));
    EXPECT_THAT(frame.error().message, HasSubstr(reason));
  }
  put(csv, std::string(kTitles) + "T,\"" + std::string(3 << 20, 'x'));
  const auto frame = index(options);
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("statistic.csv: the row at line 2 has more than"));
}

TEST_F(MsKernel, SurvivesAnyBytesInATable) {
  const std::string good = std::string(kTitles) + "T,\"x,\"\"y\",1,2,5,output,0,4,float32,\"(4,)\",1,1,1,2\n";
  const KernelFolder whole = [&] {
    put("rank_0/Net/0/3/statistic.csv", good);
    return read_kernel_folder(root_ / "rank_0/Net/0/3", false);
  }();
  ASSERT_THAT(whole.entries, SizeIs(1));
  EXPECT_EQ(whole.entries[0].name.key(), "x,\"y.1.output.0");
  for (size_t at = 0; at < good.size(); ++at)
    for (const char c : {'\0', '"', ',', '\n', '\xFF'}) {
      std::string damaged = good;
      damaged[at] = c;
      put("rank_0/Net/0/3/statistic.csv", damaged);
      OpenOptions options;
      options.layout = "ms_kernel";
      const auto frame = index(options);
      EXPECT_TRUE(frame || frame.error().message.find("rank_0") != std::string::npos);
    }
}

TEST_F(MsKernel, MakesNamesPrintable) {
  put("rank_0/Net/0/3/A.add\x01\xFF.1.2.7.output.0.ND.npy");
  put("rank_0/Net/0/3/A.add.1.2.7.output.0.ND.npy");
  EXPECT_THAT(names(index().value()), ElementsAre("add\\x01\\xff.1.output.0", "add.1.output.0"));
}

TEST_F(MsKernel, HonoursOnlyAndSkip) {
  put("rank_0/Net/0/3/A.add.1.2.7.output.0.ND.npy");
  put("rank_0/Net/0/3/A.mul.1.2.7.output.0.ND.npy");
  OpenOptions options;
  options.only = {"mul*"};
  EXPECT_THAT(names(index(options).value()), ElementsAre("mul.1.output.0"));
  options.only = {"nothing"};
  EXPECT_THAT(all_warnings(index(options).value()),
              HasSubstr("--only and --skip leave none of its 2 tensors"));
}

}  // namespace
}  // namespace assay
