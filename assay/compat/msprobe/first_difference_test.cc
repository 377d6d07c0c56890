#include "assay/compat/msprobe/files.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/sample_rows.h"

#include <gmock/gmock.h>
#include <rapidjson/document.h>

#include <cmath>
#include <fstream>
#include <iterator>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = rapidjson::Document;

Json parsed(const fs::path& path) {
  Json document;
  const std::string text = file_text(path);
  document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag>(text.data(),
                                                                                         text.size());
  EXPECT_FALSE(document.HasParseError()) << path << " at " << document.GetErrorOffset() << ":\n" << text;
  return document;
}

// A node with one input and some outputs; percent: the relative error of the maximum of each output.
class Operator {
 public:
  Operator(std::string name, const std::vector<Value>& percents) : name_(std::move(name)) {
    add(".input.0", Direction::input, 0.0);
    for (const Value& percent : percents) {
      add(".output." + std::to_string(pairs_.size() - 1), Direction::output, percent);
    }
  }
  MsprobePair& pair(size_t index) { return pairs_[index]; }
  NodeResult node(std::span<const std::string_view> stack = {}) const {
    NodeResult node = node_of(name_, {});
    for (const MsprobePair& pair : pairs_) node.rows.push_back(pair.row);
    node.stack = stack;
    return node;
  }

 private:
  void add(const std::string& rest, Direction direction, const Value& percent) {
    MsprobePair& made = pairs_.emplace_back(name_ + rest, direction, static_cast<int>(pairs_.size()));
    made.row.metrics = {0.0, 0.0, 0.0, 0.0, percent, 0.0, 0.0, 0.0};
  }
  std::string name_;
  std::deque<MsprobePair> pairs_;
};

class FirstDifference : public ::testing::Test {
 protected:
  // One section per list of nodes: ranks 0, 1…
  void run(const std::vector<std::vector<NodeResult>>& ranks, Content content = Content::statistics,
           Generation generation = Generation::g2) {
    const Profile profile =
        msprobe_profile({.generation = generation, .stack = MsprobeStyle::Stack::if_found});
    ReportSet reports;
    reports.add(msprobe_first_difference({.folder = folder_.path(), .per_rank = true}, profile, generation));
    Head head = msprobe_head(content, generation);
    head.has_stacks = true;
    ASSERT_TRUE(reports.begin(head));
    for (const std::vector<NodeResult>& nodes : ranks) {
      head.at.rank += 1;
      ASSERT_TRUE(reports.open_section(head));
      for (const NodeResult& node : nodes) ASSERT_TRUE(reports.write({&node, 1}, reports.render({&node, 1})));
      ASSERT_TRUE(reports.close_section({}));
    }
    const auto published = reports.end({});
    ASSERT_TRUE(published);
    for (const fs::path& file : *published) files.push_back(file.filename());
  }

  Json rank(int number) const {
    return parsed(folder_.path() / ("compare_result_rank" + std::to_string(number) + "_20250102030405.json"));
  }
  Json analysis() const { return parsed(folder_.path() / "diff_analyze_1735787045000000000.json"); }
  std::string analysis_text() const {
    std::ifstream file(folder_.path() / "diff_analyze_1735787045000000000.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The operator that was found for rank 0; "none".
  std::string found() const {
    if (!fs::exists(folder_.path() / "diff_analyze_1735787045000000000.json")) return "none";
    const Json json = analysis();
    return json["rank_0"][0]["op_name"].GetString();
  }

  std::vector<std::string> files;
  LogLines log;

 private:
  TestFolder folder_;
};

TEST_F(FirstDifference, WritesEveryOperatorOfARank) {
  Operator add("Torch.add.0.forward", {0.0}), mul("Torch.mul.0.forward", {60.0});
  add.pair(0).mine.max = std::nan("");
  add.pair(0).mine.min = -HUGE_VAL;
  add.pair(1).lose_golden();
  const std::string_view stack[] = {"File \"a\\b.py\", line 1, in f, \n x\t+ y", "File c.py"};
  run({{add.node(stack), mul.node()}});
  const Json json = rank(0);
  ASSERT_EQ(json.MemberCount(), 2u);
  EXPECT_TRUE(json["Torch.add.0.forward"]["is_same"].GetBool());
  EXPECT_FALSE(json["Torch.mul.0.forward"]["is_same"].GetBool());
  const auto& items = json["Torch.add.0.forward"]["op_items"];
  ASSERT_EQ(items.Size(), 2u);
  EXPECT_STREQ(items[0]["NPU Name"].GetString(), "Torch.add.0.forward.input.0");
  EXPECT_STREQ(items[0]["NPU max"].GetString(), "Nan");
  EXPECT_EQ(items[0]["NPU min"].GetDouble(), -HUGE_VAL);
  EXPECT_STREQ(items[0]["MaxRelativeErr"].GetString(), "0.0%");
  EXPECT_STREQ(items[0]["state"].GetString(), "input");
  EXPECT_STREQ(items[0]["api_origin_name"].GetString(), "Torch.add.0.forward");
  EXPECT_STREQ(items[0]["NPU P2POp op"].GetString(), "None");
  ASSERT_TRUE(items[0]["NPU_Stack_Info"].IsArray());
  EXPECT_STREQ(items[0]["NPU_Stack_Info"][0].GetString(), "File \"a\\b.py\", line 1, in f, \n x + y");
  EXPECT_STREQ(items[1]["NPU_Stack_Info"].GetString(), "N/A");
  EXPECT_STREQ(items[1]["Bench Name"].GetString(), "N/A");
  EXPECT_STREQ(items[1]["state"].GetString(), "output");
}

TEST_F(FirstDifference, NamesPeers) {
  Operator send("Distributed.batch_isend_irecv.0.forward", {0.0});
  const std::vector<Fact> facts = {{"op", std::string("isend")}, {"peer", std::string("1")}};
  send.pair(0).mine_item.facts = &facts;
  run({{send.node()}});
  const Json json = rank(0);
  const auto& item = json["Distributed.batch_isend_irecv.0.forward"]["op_items"][0];
  EXPECT_STREQ(item["NPU P2POp op"].GetString(), "isend");
  EXPECT_EQ(item["NPU P2POp peer"].GetInt(), 1);
  EXPECT_STREQ(item["Bench P2POp peer"].GetString(), "None");
}

TEST_F(FirstDifference, AnOperatorDiffersAboveFiftyPercentOfAnOutput) {
  Operator at("Torch.at.0.forward", {50.0}), above("Torch.above.0.forward", {0.0, 50.1}),
      word("Torch.word.0.forward", {std::string("N/A")}), nothing("Torch.nothing.0.forward", {Value()});
  Operator mean("Torch.mean.0.forward", {0.0});
  mean.pair(1).row.metrics[6] = 99.0;
  Operator input("Torch.input.0.forward", {0.0});
  input.pair(0).row.metrics[4] = 99.0;  // not an output
  run({{at.node(), above.node(), word.node(), nothing.node(), mean.node(), input.node()}},
      Content::statistics, Generation::g3);
  const Json json = rank(0);
  for (const char* const name : {"at", "word", "nothing", "input"})
    EXPECT_TRUE(json[("Torch." + std::string(name) + ".0.forward").c_str()]["is_same"].GetBool()) << name;
  for (const char* const name : {"above", "mean"})
    EXPECT_FALSE(json[("Torch." + std::string(name) + ".0.forward").c_str()]["is_same"].GetBool()) << name;
}

TEST_F(FirstDifference, ChecksumsDiffer) {
  Operator same("Torch.a.0.forward", {0.0}), other("Torch.b.0.forward", {0.0}),
      input("Torch.c.0.forward", {0.0});
  other.pair(1).mine.checksum = "1ad5be0d";
  input.pair(0).mine.checksum = "1ad5be0d";
  run({{same.node(), input.node(), other.node()}}, Content::checksums, Generation::g3);
  const Json json = rank(0);
  EXPECT_TRUE(json["Torch.a.0.forward"]["is_same"].GetBool());
  EXPECT_TRUE(json["Torch.c.0.forward"]["is_same"].GetBool());
  EXPECT_FALSE(json["Torch.b.0.forward"]["is_same"].GetBool());
  EXPECT_TRUE(
      analysis()["rank_0"][0]["data_info"]["output"]["Torch.b.0.forward.output.0"].HasMember("NPU MD5"));
}

TEST_F(FirstDifference, GenerationTwoAsksEveryRow) {
  Operator input("Torch.input.0.forward", {0.0}), same("Torch.same.0.forward", {0.0}),
      attention("NPU.npu_fusion_attention.0.forward", {0.0, 0.0, 0.0, 0.0, 99.0});
  input.pair(0).row.metrics[4] = 99.0;
  run({{input.node(), same.node(), attention.node()}});
  const Json json = rank(0);
  EXPECT_FALSE(json["Torch.input.0.forward"]["is_same"].GetBool());
  EXPECT_TRUE(json["Torch.same.0.forward"]["is_same"].GetBool());
  EXPECT_FALSE(json["NPU.npu_fusion_attention.0.forward"]["is_same"].GetBool());
}

TEST_F(FirstDifference, RandomStatesOfFusedAttentionDoNotCount) {
  const std::vector<Value> states = {0.0, 0.0, 0.0, 0.0, 99.0, 99.0},
                           sixth = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 99.0};
  Operator ignored("NPU.npu_fusion_attention.0.forward", states);
  Operator counted("NPU.npu_fusion_attention.1.forward", sixth);
  Operator other("NPU.npu_other_attention.0.forward", states);
  run({{ignored.node(), counted.node(), other.node()}}, Content::statistics, Generation::g3);
  const Json json = rank(0);
  EXPECT_TRUE(json["NPU.npu_fusion_attention.0.forward"]["is_same"].GetBool());
  EXPECT_FALSE(json["NPU.npu_fusion_attention.1.forward"]["is_same"].GetBool());
  EXPECT_FALSE(json["NPU.npu_other_attention.0.forward"]["is_same"].GetBool());
}

TEST_F(FirstDifference, FindsTheFirstOperatorOfEveryRank) {
  Operator good("Torch.good.0.forward", {0.0}), bad("Torch.bad.0.forward", {60.0}),
      later("Torch.later.0.forward", {70.0});
  const std::string_view stack[] = {"File a.py, line 1"};
  run({{good.node(), bad.node(stack), later.node()}, {good.node()}, {later.node()}});
  EXPECT_THAT(
      files,
      ElementsAre("compare_result_rank0_20250102030405.json", "compare_result_rank1_20250102030405.json",
                  "compare_result_rank2_20250102030405.json", "diff_analyze_1735787045000000000.json"));
  const Json json = analysis();
  ASSERT_EQ(json.MemberCount(), 2u);
  ASSERT_EQ(json["rank_0"].Size(), 1u);
  const auto& finding = json["rank_0"][0];
  EXPECT_STREQ(finding["op_name"].GetString(), "Torch.bad.0.forward");
  EXPECT_EQ(finding["data_info"]["input"]["Torch.bad.0.forward.input.0"]["NPU l2norm"].GetDouble(), 2.25);
  EXPECT_STREQ(finding["data_info"]["input"]["Torch.bad.0.forward.input.0"]["NPU P2POp peer"].GetString(),
               "None");
  EXPECT_EQ(finding["data_info"]["output"].MemberCount(), 1u);
  EXPECT_STREQ(finding["stack_info"][0].GetString(), "File a.py, line 1");
  EXPECT_THAT(analysis_text(),
              HasSubstr("\n      \"stack_info\": [\n        \"File a.py, line 1\"\n      ]"));
  EXPECT_STREQ(json["rank_2"][0]["op_name"].GetString(), "Torch.later.0.forward");
  EXPECT_TRUE(json["rank_2"][0]["stack_info"].IsNull());
}

TEST_F(FirstDifference, SaysWhereThereIsNone) {
  Operator good("Torch.good.0.forward", {0.0});
  run({{good.node()}, {}});
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(rank(1).MemberCount(), 0u);
  EXPECT_THAT(log.lines, Contains("Cannot find any diff node, no need to generate analyze file."));
}

// Two ranks that agree up to their first communication. Rank 1 differs in the second operator before the
// second exchange, rank 0 in the first operator before the third.
TEST_F(FirstDifference, FollowsTheRanksThroughTheirCommunication) {
  Operator reduce("Distributed.all_reduce.0.forward", {0.0}),
      again("Distributed.all_reduce.1.forward", {0.0}), gather("Distributed.all_gather.0.forward", {0.0}),
      good("Torch.good.0.forward", {0.0}), bad("Torch.bad.0.forward", {90.0}),
      later("Torch.later.0.forward", {90.0});
  run({{good.node(), reduce.node(), good.node(), again.node(), later.node(), gather.node()},
       {reduce.node(), good.node(), bad.node(), later.node(), again.node(), gather.node()}});
  const Json json = analysis();
  ASSERT_EQ(json.MemberCount(), 1u);
  ASSERT_EQ(json["rank_1"].Size(), 1u);
  EXPECT_STREQ(json["rank_1"][0]["op_name"].GetString(), "Torch.bad.0.forward");
  EXPECT_THAT(log.lines, Contains("Start searching diff node during communication."));
}

TEST_F(FirstDifference, ACommunicationMayBeWhatDiffers) {
  Operator reduce("Distributed.all_reduce.0.forward", {90.0}), bad("Torch.bad.0.forward", {90.0});
  run({{reduce.node(), bad.node()}, {reduce.node()}});
  const Json json = analysis();
  EXPECT_STREQ(json["rank_0"][0]["op_name"].GetString(), "Distributed.all_reduce.0.forward");
  EXPECT_STREQ(json["rank_1"][0]["op_name"].GetString(), "Distributed.all_reduce.0.forward");
}

TEST_F(FirstDifference, LooksBehindTheLastCommunication) {
  Operator reduce("Distributed.all_reduce.0.forward", {0.0}), bad("Torch.bad.0.forward", {90.0}),
      empty("Torch.empty.0.forward", {90.0});
  run({{reduce.node(), empty.node(), bad.node()}, {reduce.node()}});
  EXPECT_EQ(analysis().MemberCount(), 1u);
  EXPECT_EQ(found(), "Torch.bad.0.forward");
  EXPECT_THAT(log.lines, Contains("Start searching diff node after communication."));
}

// msprobe takes 0 for a rank that was not said: the receiver does not meet its sender, and stays earlier.
TEST_F(FirstDifference, RankZeroIsNamedByNobody) {
  Operator first("Distributed.all_reduce.0.forward", {0.0}),
      second("Distributed.all_reduce.1.forward", {0.0}), send("Distributed.send.0.forward", {0.0}),
      receive("Distributed.recv.0.forward", {90.0}), bad("Torch.bad.0.forward", {90.0});
  send.pair(0).name = "Distributed.send.0.forward.input.dst";
  receive.pair(0).name = "Distributed.recv.0.forward.input.src";
  for (Operator* const op : {&send, &receive}) op->pair(0).row.mine.name = op->pair(0).name;
  send.pair(0).mine.max = std::string_view("1");
  receive.pair(0).mine.max = std::string_view("0");
  run({{first.node(), second.node(), bad.node(), send.node()},
       {first.node(), receive.node(), second.node()}});
  const Json json = analysis();
  ASSERT_EQ(json.MemberCount(), 1u);
  EXPECT_STREQ(json["rank_1"][0]["op_name"].GetString(), "Distributed.recv.0.forward");
}

TEST_F(FirstDifference, KnowsWhatCommunicates) {
  Operator bad("Torch.bad.0.forward", {90.0}), barrier("Distributed.barrier.0.forward", {0.0}),
      gather("Torch.gather.0.forward", {0.0});  // no communication, whatever its name
  run({{barrier.node(), gather.node(), bad.node()}});
  EXPECT_EQ(found(), "Torch.bad.0.forward");
}

TEST_F(FirstDifference, PassesOverOperatorsThatComputeNothing) {
  Operator empty("Torch.empty.0.forward", {90.0}), fill("Torch.fill_.0.forward", {90.0}),
      set("Tensor.__setitem__.0.forward", {90.0}), to("Tensor.to.0.forward", {90.0});
  run({{empty.node(), fill.node(), set.node(), to.node()}});
  EXPECT_EQ(found(), "Tensor.to.0.forward");
}

// Generation 3 searches before it judges.
TEST_F(FirstDifference, HasTheWordsBeforeAJudgement) {
  Operator matched("Torch.a.0.forward", {0.0}), alone("Torch.b.0.forward", {0.0});
  matched.pair(0).row.verdict = {Level::fail, "[\"error: x\"]", "error"};
  matched.pair(1).mine.requires_grad = "True";
  alone.pair(0).lose_golden();
  run({{matched.node(), alone.node()}}, Content::statistics, Generation::g3);
  const Json json = rank(0);
  const auto& items = json["Torch.a.0.forward"]["op_items"];
  EXPECT_STREQ(items[0]["Result"].GetString(), "");
  EXPECT_STREQ(items[0]["Err_message"].GetString(), "");
  EXPECT_STREQ(items[1]["Err_message"].GetString(), "Requires_grad inconsistent. ");
  const auto& unmatched = json["Torch.b.0.forward"]["op_items"][0];
  EXPECT_STREQ(unmatched["Result"].GetString(), "N/A");
  EXPECT_STREQ(unmatched["Err_message"].GetString(), "No bench data matched.");
}

TEST_F(FirstDifference, LeavesOutWhatIsNoOperatorOfMine) {
  Operator golden("Torch.golden.0.forward", {90.0}), variable("x.0.debug", {90.0}),
      quoted("Torch.\"q\\.0.forward", {0.0});
  golden.pair(0).lose_mine();
  golden.pair(1).lose_mine();
  run({{golden.node(), variable.node(), quoted.node()}});
  const Json json = rank(0);
  EXPECT_EQ(json.MemberCount(), 1u);
  EXPECT_TRUE(json.HasMember("Torch.\"q\\.0.forward"));
}

}  // namespace
}  // namespace assay
