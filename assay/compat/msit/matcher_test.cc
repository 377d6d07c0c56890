#include "assay/compat/msit/matchers.h"
#include "assay/match/match_test_tools.h"
#include "assay/model/graph.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An operator with its files; those of a torch module are named after it, those of ATB after its folder.
struct Op {
  std::string path, type;
  int parent;
  Texts files;  // "after/outtensor0.bin", "output.pth"
  std::string name = {};
};

Direction direction_of(const std::string& file) {
  return file.find("intensor") != std::string::npos || file.starts_with("input") ? Direction::input
                                                                                 : Direction::output;
}

Frame dump(const std::string& framework, const std::vector<Op>& ops) {
  Frame frame;
  frame.framework = framework;
  auto graph = std::make_shared<Graph>();
  frame.graph = graph;
  for (const Op& op : ops) {
    GraphOp added;
    added.path = graph->strings.keep(op.path);
    added.name = op.name.empty() ? added.path : graph->strings.keep(op.name);
    added.type = graph->strings.keep(op.type);
    added.parent = op.parent;
    const int32_t place = graph->add(std::move(added));
    if (op.files.empty()) continue;
    frame.set_ops(frame.nodes.size(), {place});
    Node& node = frame.nodes.emplace_back();
    node.name = graph->at(place).path;
    for (const std::string& file : op.files) {
      Item& item = node.items.emplace_back();
      item.name = frame.strings.keep(op.path + "/" + file);
      item.port.direction = direction_of(file);
      item.port.index = file.find_first_of("0123456789") == std::string::npos
                            ? 0
                            : std::stoi(file.substr(file.find_first_of("0123456789")));
    }
  }
  return frame;
}

Texts joined(const Matched& matched) {
  Texts out;
  for (const std::string& pair : pairs_of(matched))
    if (!pair.starts_with("-|") && !pair.ends_with("|-")) out.push_back(pair);
  return out;
}

Matched at_level(const std::string& level, Frame mine, Frame golden) {
  Matched matched;
  matched.frames.at.part = level;
  matched.frames.mine.push_back(std::move(mine));
  matched.frames.golden.push_back(std::move(golden));
  matched.pairing = msit_matcher({}).match(matched.frames, {}).value();
  return matched;
}

constexpr int kBlocks = 11;  // fewer are no layers to msit

std::vector<Op> atb_blocks(const std::vector<Op>& in_each) {
  std::vector<Op> ops = {{"", "Model", -1, {}, "root"}};
  for (int i = 0; i < kBlocks; ++i) {
    const auto block = static_cast<int>(ops.size());
    const std::string path = std::to_string(i) + "_Layer";
    ops.push_back({path, "Layer", 0, {"after/outtensor0.bin"}, "Layer_" + std::to_string(i)});
    for (const Op& op : in_each)
      ops.push_back(
          {path + "/" + op.path, op.type, block + op.parent, op.files, op.path + "_" + std::to_string(i)});
  }
  return ops;
}

std::vector<Op> torch_blocks(const std::vector<Op>& in_each) {
  std::vector<Op> ops = {{"root", "Model", -1, {}}};
  for (int i = 0; i < kBlocks; ++i) {
    const auto block = static_cast<int>(ops.size());
    const std::string path = "root.model.layers." + std::to_string(i);
    ops.push_back({path, "Block", 0, {"output_0.pth"}});
    for (const Op& op : in_each) ops.push_back({path + "." + op.path, op.type, block + op.parent, op.files});
  }
  return ops;
}

TEST(MsitMatcher, PairsBlocksInTurn) {
  const Matched matched = at_level("layer", dump("atb", atb_blocks({})), dump("pytorch", torch_blocks({})));
  const Texts pairs = joined(matched);
  ASSERT_EQ(pairs.size(), static_cast<size_t>(kBlocks));
  EXPECT_EQ(pairs[10], "10_Layer/after/outtensor0.bin|root.model.layers.10/output_0.pth");
  EXPECT_EQ(matched.pairing.nodes[10].pairs[0].number, 10);
}

// The row of a table of angles: cut out by the length of the sequence, the fifth input.
TEST(MsitMatcher, TakesTheAnglesOfARotaryEmbedding) {
  const Texts inputs = {"before/intensor0.bin", "before/intensor1.bin", "before/intensor2.bin",
                        "before/intensor3.bin", "before/intensor4.bin"};
  const Matched matched = at_level(
      "api", dump("atb", atb_blocks({{"0_RopeOperation", "RopeOperation", 0, inputs, {}}})),
      dump("pytorch",
           torch_blocks({{"self_attn.rotary_emb", "Rotary", 0, {"output_0.pth", "output_1.pth"}, {}}})));
  int64_t cosines = 0, sines = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      if (pair.plans == nullptr) continue;
      const std::string mine(matched.item(Side::mine, *pair.mine).name);
      const std::string plan = plan_text(matched, pair.plan(Side::golden));
      const bool is_sine = plan.ends_with("; 1)");
      ++(is_sine ? sines : cosines);
      EXPECT_THAT(plan, ::testing::HasSubstr(", " + mine.substr(0, mine.rfind('/')) + "/intensor4.bin; "));
      EXPECT_TRUE(mine.ends_with(is_sine ? "intensor3.bin" : "intensor2.bin"));
      EXPECT_EQ(plan_text(matched, pair.plan(Side::mine)), "single_angles(" + mine + ")");
    }
  EXPECT_EQ(cosines, kBlocks);
  EXPECT_EQ(sines, kBlocks);
}

TEST(MsitMatcher, TakesTheLastOutputOfAModuleThatStatesStatistics) {
  Frame golden = dump("pytorch", torch_blocks({}));
  golden.content = Content::statistics;
  for (Node& node : golden.nodes) {
    Item second = node.items[0];
    second.name = golden.strings.keep(std::string(node.name) + "/output_1");
    second.port.index = 1;
    node.items.push_back(second);
  }
  const Matched matched = at_level("layer", dump("atb", atb_blocks({})), std::move(golden));
  const Texts pairs = joined(matched);
  ASSERT_EQ(pairs.size(), static_cast<size_t>(kBlocks));
  EXPECT_EQ(pairs[0], "0_Layer/after/outtensor0.bin|root.model.layers.0/output_1");
}

TEST(MsitMatcher, LosesNothing) {
  const Matched matched =
      at_level("module", dump("atb", {{"", "M", -1, {}, "root"}, {"0_A", "A", 0, {"after/outtensor0.bin"}}}),
               dump("pytorch", {{"root", "M", -1, {"output.pth"}}}));
  EXPECT_THAT(joined(matched), IsEmpty());
  EXPECT_THAT(pairs_of(matched), ElementsAre("0_A/after/outtensor0.bin|-", "-|root/output.pth"));
}

TEST(MsitMatcher, IsContentWithATokenThatOneSideLacks) {
  Indexed frames;
  frames.mine.push_back(dump("atb", {{"", "M", -1, {}, "root"}, {"0_A", "A", 0, {"after/outtensor0.bin"}}}));
  EXPECT_TRUE(msit_matcher({}).match(frames, {}));
}

TEST(MsitMatcher, HasEverySectionOnceForEachLevel) {
  Dump mine, golden;
  for (Dump* dump : {&mine, &golden})
    for (const int token : {0, 1}) {
      FrameInfo& frame = dump->frames.emplace_back();
      frame.at.token = token;
    }
  mine.frames.emplace_back().at.part = "warmup";
  const auto sections = msit_matcher({.levels = {"layer", "api"}}).sections(mine, golden, {});
  ASSERT_TRUE(sections) << sections.error().message;
  Texts places;
  for (const Section& section : *sections) places.push_back(section.at.text());
  EXPECT_THAT(places, ::testing::UnorderedElementsAre("token 0 layer", "token 1 layer", "warmup layer",
                                                      "token 0 api", "token 1 api", "warmup api"));
}

}  // namespace
}  // namespace assay
