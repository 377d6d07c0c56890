#include "assay/dump/atb.h"

#include "assay/dump/atb_statistics.h"
#include "assay/dump/dump_test_tools.h"
#include "assay/model/graph.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// f32 [2] = 1, 2
std::string bin_bytes() {
  return std::string(
             "$Version=1.0\n$Object.Count=1\n$Object.Length=8\nformat=2\ndtype=0\ndims=2\n$Object.data=0,8\n"
             "$End=1\n") +
         std::string("\0\0\x80\x3f\0\0\0\x40", 8);
}
std::string alias_bytes(const std::string& of) {
  return "$Version=1.0\n$Object.Count=0\n$Object.Length=0\nformat=2\ndtype=0\ndims=2\ndata=" + of +
         "\n$End=1\n";
}

constexpr std::string_view kTitles =
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,"
    "Norm,Tensor Path\n";

class AtbDump : public DumpFolder {
 protected:
  void put_tensor(const std::string& below_rank, const std::string& rank = "0_77") const {
    put("tensors/" + rank + "/" + below_rank, bin_bytes());
  }
  // A model of operators without children, from the number `start` on.
  void put_model(const std::string& name, int start, const std::vector<std::string>& types) const {
    std::string nodes;
    for (const std::string& type : types) {
      nodes += fmt::format("{}{{\"opName\":\"{}_{}\",\"opType\":\"{}\",\"inTensors\":[],\"outTensors\":[]}}",
                           nodes.empty() ? "" : ",", type, start, type);
      ++start;
    }
    put("model/77/" + name + ".json", fmt::format("{{\"modelName\":\"{}\",\"nodes\":[{}]}}", name, nodes));
  }

  Result<Dump> open() const { return open_dump(root_, {}); }
  Result<Frame> index(size_t number = 0) const {
    ASSAY_TRY(const Dump dump, open());
    EXPECT_EQ(dump.layout->name, "atb");
    return dump.layout->index(dump.frames.at(number), {});
  }
  std::vector<std::string> sections() const {
    std::vector<std::string> out;
    const auto dump = open();
    EXPECT_TRUE(dump) << dump.error().message;
    if (dump)
      for (const FrameInfo& frame : dump->frames) out.push_back(frame.at.text());
    return out;
  }
};

// A block finishes when its children have.
TEST_F(AtbDump, PutsChildrenBeforeTheirParents) {
  put_tensor("0/0_Layer/after/outtensor0.bin");
  put_tensor("0/0_Layer/10_Norm/after/outtensor0.bin");
  put_tensor("0/0_Layer/2_Linear/before/intensor0.bin");
  put_tensor("0/0_Layer/2_Linear/after/outtensor0.bin");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame),
              ElementsAre("0_Layer/2_Linear/before/intensor0.bin", "0_Layer/2_Linear/after/outtensor0.bin",
                          "0_Layer/10_Norm/after/outtensor0.bin", "0_Layer/after/outtensor0.bin"));
}

TEST_F(AtbDump, OneModelHasATokenInEveryRound) {
  put_model("Model", 0, {"Linear"});
  put_tensor("0/0_Linear/after/outtensor0.bin");
  put_tensor("1/0_Linear/after/outtensor0.bin");
  EXPECT_THAT(sections(), ElementsAre("token 0", "token 1"));
}

TEST_F(AtbDump, TwoModelsShareRoundOneAfterAWarmUp) {
  put_model("Prefill", 0, {"Linear"});
  put_model("Decode", 1, {"Linear"});
  put_tensor("0/0_Linear/after/outtensor0.bin");
  put_tensor("1/0_Linear/after/outtensor0.bin");
  put_tensor("1/1_Linear/after/outtensor0.bin");
  put_tensor("2/1_Linear/after/outtensor0.bin");
  EXPECT_THAT(sections(), ElementsAre("token 0", "token 1", "token 2"));
  for (const size_t token : {0U, 1U, 2U}) {
    const auto frame = index(token);
    ASSERT_TRUE(frame);
    EXPECT_THAT(names(*frame),
                ElementsAre(token == 0 ? "0_Linear/after/outtensor0.bin" : "1_Linear/after/outtensor0.bin"));
    EXPECT_THAT(frame->tree().roots(), SizeIs(1)) << token;  // of the model that ran
  }
}

TEST_F(AtbDump, TokensOfOneModelShareItsGraph) {
  put_model("Model", 0, {"Linear"});
  for (const std::string round : {"0", "1", "2"}) put_tensor(round + "/0_Linear/after/outtensor0.bin");
  put_tensor("2/0_Linear/0_MatMulKernel/after/outtensor0.bin");
  const auto dump = open();
  ASSERT_TRUE(dump);
  std::vector<Frame> frames;
  for (const FrameInfo& info : dump->frames) frames.push_back(*dump->layout->index(info, {}));
  ASSERT_THAT(frames, SizeIs(3));
  EXPECT_EQ(frames[0].graph, frames[1].graph);
  EXPECT_THAT(frames[0].graph->ops, SizeIs(2));
  // A folder that the topology does not know is one of its own frame alone.
  EXPECT_NE(frames[0].graph, frames[2].graph);
  EXPECT_EQ(frames[2].graph->find_path("0_Linear/0_MatMulKernel"), 2);
  EXPECT_THAT(frames[2].ops_of(0), ElementsAre(2));
  EXPECT_THAT(frames[2].ops_of(1), ElementsAre(1));
  EXPECT_EQ(frames[2].node_of(2), 0);
  EXPECT_EQ(frames[2].node_of(0), Graph::kNone);
}

// As msit has it: a frame of its own behind the tokens, also where its round is all that is meant.
TEST_F(AtbDump, ListsTheWarmUpWhereAsked) {
  put_model("Prefill", 0, {"Linear"});
  put_model("Decode", 1, {"Linear"});
  put_tensor("0/0_Linear/after/outtensor0.bin");
  put_tensor("1/0_Linear/after/outtensor0.bin");
  OpenOptions options;
  options.warm_up = true;
  const auto places = [&](const fs::path& path) {
    std::vector<std::string> out;
    const auto dump = open_dump(path, options);
    EXPECT_TRUE(dump);
    if (dump)
      for (const FrameInfo& frame : dump->frames) out.push_back(frame.at.text());
    return out;
  };
  EXPECT_THAT(places(root_), ElementsAre("token 0", "token 1", "warmup"));
  EXPECT_THAT(places(root_ / "tensors/0_77/0"), ElementsAre("warmup"));
  fs::remove_all(root_ / "model/77/Decode.json");  // one model: nothing warms up
  EXPECT_THAT(places(root_), ElementsAre("token 0", "token 1"));
}

TEST_F(AtbDump, TakesFoldersThatTheTopologyDoesNotKnow) {
  put_model("Model", 0, {"Linear"});
  put_tensor("0/0_Linear/0_MatMulKernel/after/outtensor0.bin");
  put_tensor("0/7_Strange/3_Deeper/after/outtensor0.bin");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), ElementsAre("0_Linear/0_MatMulKernel/after/outtensor0.bin",
                                         "7_Strange/3_Deeper/after/outtensor0.bin"));
}

// One bad file is one row.
TEST_F(AtbDump, KeepsTheRowOfABadFile) {
  put_tensor("0/0_Linear/after/outtensor0.bin");
  put("tensors/0_77/0/0_Linear/after/outtensor1.bin", bin_bytes().substr(0, bin_bytes().size() - 3));
  put("tensors/0_77/0/0_Linear/after/outtensor2.bin", "no header");
  put("tensors/0_77/0/0_Linear/after/outtensor3.bin", "");
  put("tensors/0_77/0/0_Linear/after/outtensor4.bin", bin_bytes() + bin_bytes());
  fs::create_symlink("nowhere", root_ / "tensors/0_77/0/0_Linear/after/outtensor5.bin");
  const auto frame = index();
  ASSERT_TRUE(frame);
  ASSERT_THAT(frame->nodes, SizeIs(1));
  const std::vector<Item>& items = frame->nodes[0].items;
  ASSERT_THAT(items, SizeIs(6));
  EXPECT_TRUE(items[0].data);
  for (const size_t bad : {1U, 2U, 3U, 5U}) {
    EXPECT_FALSE(items[bad].data) << bad;
    EXPECT_THAT(std::string(items[bad].trouble), HasSubstr(fmt::format("outtensor{}.bin", bad)));
  }
}

TEST_F(AtbDump, FollowsAliasesAndEndsTheirLoops) {
  put_tensor("0/0_Linear/after/outtensor0.bin");
  put("tensors/0_77/0/1_Norm/before/intensor0.bin", alias_bytes("0_outtensor0.bin"));
  put("tensors/0_77/0/2_A/after/outtensor0.bin", alias_bytes("3_outtensor0.bin"));
  put("tensors/0_77/0/3_B/after/outtensor0.bin", alias_bytes("2_outtensor0.bin"));
  const auto frame = index();
  ASSERT_TRUE(frame);
  ASSERT_THAT(frame->nodes, SizeIs(4));
  EXPECT_TRUE(frame->nodes[1].items[0].data);
  EXPECT_FALSE(frame->nodes[2].items[0].data);
  EXPECT_FALSE(frame->nodes[3].items[0].data);
}

TEST_F(AtbDump, EntersALoopOfFoldersOnce) {
  put_tensor("0/0_Linear/after/outtensor0.bin");
  fs::create_directory_symlink(root_ / "tensors/0_77/0", root_ / "tensors/0_77/0/0_Linear/1_Again");
  fs::create_directory_symlink(root_, root_ / "tensors/0_77/1_up");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), Contains("0_Linear/after/outtensor0.bin"));
}

TEST_F(AtbDump, IsNotHeldUpByLinksInCircles) {
  fs::create_directories(root_ / "tensors/0_77/0");
  for (int i = 0; i < 12; ++i)
    fs::create_directory_symlink(".", root_ / "tensors/0_77/0" / fmt::format("{}_Circle", i));
  EXPECT_EQ(atb_layout.recognise(root_), 0);
}

TEST_F(AtbDump, TakesNamesWithOddCharacters) {
  put_tensor("0/0_Lin\xff\near/after/outtensor0.bin");
  put_tensor("0/_/after/outtensor0.bin");
  put_tensor("0/5_/after/outtensor.bin");
  put_tensor("0/99999999999999999999_Huge/after/outtensor99999999999999999999.bin");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), Contains("0_Lin\\xff\\x0aear/after/outtensor0.bin"));
  EXPECT_THAT(names(*frame), SizeIs(4));
}

TEST_F(AtbDump, DoesWithoutABrokenTopology) {
  put_tensor("0/0_Linear/after/outtensor0.bin");
  std::string deep = "{\"modelName\":\"x\",\"nodes\":[";
  for (int i = 0; i < 10000; ++i) deep += "{\"opName\":\"a\",\"opType\":\"b\",\"nodes\":[";
  put("model/77/deep.json", deep);
  put("model/77/text.json", "[1, 2");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("0_Linear/after/outtensor0.bin"));
}

TEST_F(AtbDump, HasOneFramePerRank) {
  put_tensor("0/0_Linear/after/outtensor0.bin", "0_77");
  put_tensor("0/0_Linear/after/outtensor0.bin", "1_78");
  EXPECT_THAT(sections(), ElementsAre("rank 0 token 0", "rank 1 token 0"));
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(frame->nodes[0].items[0].shards(), SizeIs(2));
}

// ----- statistic.csv of msprobe

TEST_F(AtbDump, TakesARoundOfStatisticsAlone) {
  put("atb_dump_data/data/0_77/0/statistic.csv",
      std::string(kTitles) +
          "0_77,0,Layer/Linear,Linear,1_0,input,2,float16,nd,2x3,4.000000,-1.000000,0.500000,6.000000,N/A\n"
          "0_77,0,Layer/Linear,Linear,1_0,output,0,int8,nd,2x2,127,-128,1.000000,180.382926,N/A\n"
          "0_77,0,Layer,Layer,1,output,0,undefined(99),nd,,nan,N/A,1e999,inf,N/A\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->content, Content::statistics);
  EXPECT_THAT(names(*frame),
              ElementsAre("1_Layer/0_Linear/before/intensor2.bin", "1_Layer/0_Linear/after/outtensor0.bin",
                          "1_Layer/after/outtensor0.bin"));
  const Item& input = frame->nodes[0].items[0];
  ASSERT_TRUE(input.meta && input.stated);
  EXPECT_EQ(*input.meta, (TensorMeta{DType::f16, Shape{{2, 3}}}));
  EXPECT_EQ(number_of(input.stated->norm), 6);
  EXPECT_FALSE(input.data);
  EXPECT_EQ(frame->nodes[1].items[0].meta, nullptr);
}

TEST_F(AtbDump, TakesOfComplexStatisticsWhatIsNotFinite) {
  put("atb_dump_data/data/0_77/0/statistic.csv",
      std::string(kTitles) +
          "0_77,0,A,A,0,output,0,complex64,nd,2,\"(3.0,4.0)\",\"(1.0,-2.0)\",\"(nan,1.0)\",5.5,N/A\n"
          "0_77,0,B,B,1,output,0,complex64,nd,2,\"(1.0,-inf)\",\"(1.0)\",\"(2.0,1.0)\",inf,N/A\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  const Item& first = frame->nodes[0].items[0];
  EXPECT_EQ(first.trouble, "");
  EXPECT_EQ(number_of(first.stated->max), std::nullopt);
  EXPECT_TRUE(std::isnan(number_of(first.stated->mean).value_or(0)));
  EXPECT_EQ(number_of(first.stated->norm), 5.5);
  const Item& second = frame->nodes[1].items[0];
  EXPECT_EQ(number_of(second.stated->max), -std::numeric_limits<double>::infinity());
  EXPECT_THAT(second.trouble, HasSubstr("Min is '(1.0)', not a number"));
}

TEST_F(AtbDump, FilesComeBeforeTheTable) {
  put("atb_dump_data/data/0_77/0/1_Linear/after/outtensor0.bin", bin_bytes());
  put("atb_dump_data/data/0_77/0/statistic.csv",
      std::string(kTitles) + "0_77,0,Linear,Linear,1,output,0,float,nd,2,2.0,1.0,1.5,2.236068,x\n" +
          "0_77,0,Linear,Linear,1,output,1,float,nd,2,N/A,N/A,N/A,N/A,x\n");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->content, Content::data);
  EXPECT_THAT(names(*frame), ElementsAre("1_Linear/after/outtensor0.bin", "1_Linear/after/outtensor1.bin"));
  // The other has neither data nor numbers.
  EXPECT_THAT(frame->nodes[0].items[1].trouble, HasSubstr("outtensor1.bin, which is not there"));
  EXPECT_TRUE(frame->nodes[0].items[0].data);
  ASSERT_NE(frame->nodes[0].items[0].stated, nullptr);
  EXPECT_EQ(number_of(frame->nodes[0].items[0].stated->mean), 1.5);
}

TEST_F(AtbDump, LeavesOutRowsThatMakeNoSense) {
  const std::string good = "0_77,0,Linear,Linear,1,output,0,float,nd,2,2.0,1.0,1.5,2.2,N/A\n";
  put("statistic.csv",
      std::string(kTitles) + "short,row\n" +
          "0_77,0,A/B,B,1,output,0,float,nd,2,1,1,1,1,N/A\n" +                       // two names, one number
          "0_77,0,A,A,-1,output,0,float,nd,2,1,1,1,1,N/A\n" +                        // no number
          "0_77,0,A,A,1,sideways,0,float,nd,2,1,1,1,1,N/A\n" +                       // neither in nor out
          "0_77,0,A,A,1,output,x,float,nd,2,1,1,1,1,N/A\n" +                         // no index
          "0_77,0,A,A,2,output,0,float,nd,9999999999x9999999999x99,1,1,1,1,N/A\n" +  // no tensor is so large
          good + good);
  Remarks warnings;
  const auto tensors = read_atb_statistics(root_ / "statistic.csv", warnings);
  ASSERT_TRUE(tensors);
  ASSERT_THAT(*tensors, SizeIs(2));
  EXPECT_FALSE((*tensors)[0].file.draft.meta);
  EXPECT_EQ((*tensors)[1].op, "1_Linear");
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("statistic.csv:2: 5 rows"));
}

TEST_F(AtbDump, RefusesATableWithoutItsColumns) {
  put("statistic.csv", "Device and PID,Execution Count,Op Name\n");
  Remarks warnings;
  const auto tensors = read_atb_statistics(root_ / "statistic.csv", warnings);
  ASSERT_FALSE(tensors);
  EXPECT_THAT(tensors.error().message, HasSubstr("has no column 'Op Id'"));
  put("empty.csv", "");
  EXPECT_FALSE(is_atb_statistics(root_ / "empty.csv"));
  EXPECT_FALSE(is_atb_statistics(root_ / "missing.csv"));
  EXPECT_FALSE(is_atb_statistics(root_));
}

}  // namespace
}  // namespace assay
