#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kLayer = "root.layers.0";

// One layer is no repetition; a ModuleList says that it is one all the same.
Frame torch_model() {
  const auto both = [](const std::string& path, const std::string& type = "") {
    return TestOp{.path = path, .files = {"input_0.pth", "output.pth"}, .type = type};
  };
  return make_op_frame("pytorch", {{.path = "root"},
                                   {.path = "root.layers", .type = "ModuleList"},
                                   both(kLayer),
                                   {.path = kLayer + ".self_attn"},
                                   both(kLayer + ".self_attn.q_proj"),
                                   both(kLayer + ".self_attn.k_proj"),
                                   both(kLayer + ".self_attn.v_proj"),
                                   both(kLayer + ".self_attn.o_proj"),
                                   both(kLayer + ".input_layernorm")});
}

Frame atb_model(bool with_split = true) {
  std::vector<TestOp> ops = {
      {.path = "0_layer",
       .files = {"before/intensor0.bin", "after/outtensor0.bin"},
       .inputs = {"x"},
       .outputs = {"y"}},
      {.path = "0_layer/0_RmsNormOperation",
       .files = {"before/intensor0.bin", "before/intensor1.bin", "after/outtensor0.bin"},
       .inputs = {"x", "weight"},
       .outputs = {"normed"}},
      {.path = "0_layer/1_LinearOperation",
       .files = {"before/intensor0.bin", "after/outtensor0.bin"},
       .inputs = {"normed", "weights"},
       .outputs = {"qkv"},
       .has_bias = false}};
  if (with_split)
    ops.push_back({.path = "0_layer/2_SplitOperation",
                   .files = {"before/intensor0.bin", "after/outtensor0.bin", "after/outtensor1.bin",
                             "after/outtensor2.bin"},
                   .inputs = {"qkv"},
                   .outputs = {"q", "k", "v"}});
  ops.push_back({.path = "0_layer/3_SelfAttentionOperation",
                 .files = {"before/intensor2.bin", "after/outtensor0.bin"},
                 .inputs = {"q", "k", "v"},
                 .outputs = {"context"}});
  ops.push_back({.path = "0_layer/4_LinearOperation",
                 .files = {"before/intensor0.bin", "after/outtensor0.bin"},
                 .inputs = {"context", "wo"},
                 .outputs = {"y"},
                 .has_bias = false});
  return make_op_frame("atb", ops);
}

TEST(AtbTorch, NeverCrossesQueryKeyAndValue) {
  const Texts pairs = pairs_of(match_frames(atb_torch_matcher, atb_model(), torch_model(), {}));
  const std::string split = "0_layer/2_SplitOperation/after/outtensor";
  EXPECT_THAT(pairs, Contains(split + "0.bin|" + kLayer + ".self_attn.q_proj/output.pth"));
  EXPECT_THAT(pairs, Contains(split + "1.bin|" + kLayer + ".self_attn.k_proj/output.pth"));
  EXPECT_THAT(pairs, Contains(split + "2.bin|" + kLayer + ".self_attn.v_proj/output.pth"));
}

TEST(AtbTorch, PairsInputsByTheValueTheyAre) {
  const Texts pairs = pairs_of(match_frames(atb_torch_matcher, atb_model(), torch_model(), {}));
  EXPECT_THAT(pairs, Contains("0_layer/3_SelfAttentionOperation/before/intensor2.bin|" + kLayer +
                              ".self_attn.v_proj/output.pth"));
  EXPECT_THAT(pairs, Contains("0_layer/before/intensor0.bin|" + kLayer + ".input_layernorm/input_0.pth"));
  EXPECT_THAT(pairs, Contains("0_layer/0_RmsNormOperation/before/intensor1.bin|-"));
}

TEST(AtbTorch, JoinsTheModulesOfAFusedProjection) {
  const Matched matched = match_frames(atb_torch_matcher, atb_model(false), torch_model(), {});
  Texts joined;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (const Plan* const plan = pair.plan(Side::golden)) {
        EXPECT_EQ(plan->parts().size(), 3U);
        joined.push_back(std::string(matched.item(Side::mine, *pair.mine).name) + "|" + plan->name);
      }
  EXPECT_THAT(joined,
              ElementsAre("0_layer/1_LinearOperation/after/outtensor0.bin|root.layers.0.self_attn.q_proj/"
                          "output.pth + root.layers.0.self_attn.k_proj/output.pth + "
                          "root.layers.0.self_attn.v_proj/output.pth"));
}

TEST(AtbTorch, JoinsTheModulesOfMineForAFusedProjectionOfGolden) {
  const Matched matched = match_frames(atb_torch_matcher, torch_model(), atb_model(false), {});
  Texts joined;
  for (const PairedNode& node : matched.pairing.nodes) {
    EXPECT_FALSE(node.pairs.empty());
    for (const Pair& pair : node.pairs) {
      const Plan* const plan = pair.plan(Side::mine);
      if (plan == nullptr) continue;
      EXPECT_EQ(plan->parts().size(), 3U);
      EXPECT_EQ(*pair.mine, plan->parts().front().item);
      joined.push_back(std::string(node.name) + ": " + plan->name + "|" +
                       std::string(matched.item(Side::golden, *pair.golden).name));
    }
  }
  EXPECT_THAT(joined,
              ElementsAre("root.layers.0.self_attn.q_proj: root.layers.0.self_attn.q_proj/output.pth + "
                          "root.layers.0.self_attn.k_proj/output.pth + "
                          "root.layers.0.self_attn.v_proj/output.pth|0_layer/1_LinearOperation/after/"
                          "outtensor0.bin"));
}

Frame torch_with_angles(const Texts& files = {"output_0.pth", "output_1.pth"}) {
  return make_op_frame("pytorch", {{.path = "root"},
                                   {.path = "root.layers", .type = "ModuleList"},
                                   {.path = "root.layers.0"},
                                   {.path = "root.layers.0.self_attn"},
                                   {.path = "root.layers.0.self_attn.rotary_emb", .files = files}});
}

Frame atb_with_angles(bool with_length = true) {
  Texts files = {"before/intensor2.bin", "before/intensor3.bin"};
  if (with_length) files.push_back("before/intensor4.bin");
  return make_op_frame("atb", {{.path = "0_Gather", .files = {"after/outtensor0.bin"}, .outputs = {"cos"}},
                               {.path = "1_layer"},
                               {.path = "1_layer/0_RopeOperation",
                                .files = files,
                                .inputs = {"q", "k", "cos", "sin", "length"},
                                .outputs = {"a", "b"}}});
}

TEST(AtbTorch, PairsTheAnglesAtHandWithTheTableOfAll) {
  const std::string table = "root.layers.0.self_attn.rotary_emb/output_";
  const Matched matched = match_frames(atb_torch_matcher, atb_with_angles(), torch_with_angles(), {});
  for (const auto& [file, output, is_sine] :
       {std::tuple("1_layer/0_RopeOperation/before/intensor2.bin", "0.pth", false),
        std::tuple("1_layer/0_RopeOperation/before/intensor3.bin", "1.pth", true),
        std::tuple("0_Gather/after/outtensor0.bin", "0.pth", false)}) {
    // Two rows, of [2, 4].
    EXPECT_EQ(plan_of(matched, Side::golden, file, table + output),
              fmt::format("angles({}{}, 1_layer/0_RopeOperation/before/intensor4.bin; {:d}, 2)", table,
                          output, is_sine));
    EXPECT_EQ(plan_of(matched, Side::mine, file, table + output), "as it stands");
  }
  const Matched exchanged = match_frames(atb_torch_matcher, torch_with_angles(), atb_with_angles(), {});
  EXPECT_EQ(plan_of(exchanged, Side::mine, table + "1.pth", "1_layer/0_RopeOperation/before/intensor3.bin"),
            fmt::format("angles({}1.pth, 1_layer/0_RopeOperation/before/intensor4.bin; 1, 2)", table));
}

TEST(AtbTorch, TakesCosinesForNoSines) {
  const std::string sines = "1_layer/0_RopeOperation/before/intensor3.bin|";
  const auto lost =
      pairs_of(match_frames(atb_torch_matcher, atb_with_angles(), torch_with_angles({"output_0.pth"}), {}));
  EXPECT_THAT(lost, Contains(sines + "-"));
  const auto both =
      pairs_of(match_frames(atb_torch_matcher, atb_with_angles(), torch_with_angles({"output.pth"}), {}));
  EXPECT_THAT(both, Contains(sines + "root.layers.0.self_attn.rotary_emb/output.pth"));
}

TEST(AtbTorch, LeavesAnglesAloneWhosePositionsNobodyTells) {
  for (const std::string& pair :
       pairs_of(match_frames(atb_torch_matcher, atb_with_angles(false), torch_with_angles(), {})))
    EXPECT_TRUE(pair.starts_with("-|") || pair.ends_with("|-")) << pair;
}

TEST(AtbTorch, PairsTheWeightsOfModules) {
  std::vector<TestOp> torch = {
      {.path = "root"}, {.path = "root.layers", .type = "ModuleList"}, {.path = kLayer}};
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    torch.push_back({.path = kLayer + ".self_attn." + name, .files = {"weight"}});
  torch.insert(torch.begin() + 3, {.path = kLayer + ".self_attn"});
  Frame atb = make_op_frame("atb", {{.path = "0_layer"},
                                    {.path = "0_layer/0_LinearOperation",
                                     .files = {"before/intensor1.bin"},
                                     .inputs = {"x", "qkv_weight"},
                                     .outputs = {"qkv"}},
                                    {.path = "0_layer/1_SelfAttentionOperation",
                                     .files = {"after/outtensor0.bin"},
                                     .inputs = {"qkv"},
                                     .outputs = {"context"}},
                                    {.path = "0_layer/2_LinearOperation",
                                     .files = {"before/intensor1.bin"},
                                     .inputs = {"context", "wo"},
                                     .outputs = {"y"},
                                     .has_rows_out = false}});
  const Matched matched =
      match_frames(atb_torch_matcher, std::move(atb), make_op_frame("pytorch", torch), {});
  const std::string modules = kLayer + ".self_attn.";
  EXPECT_EQ(
      plan_of(matched, Side::golden, "0_layer/0_LinearOperation/before/intensor1.bin",
              modules + "q_proj/weight"),
      fmt::format("join({0}q_proj/weight, {0}k_proj/weight, {0}v_proj/weight; 0) weight(#1; 1, 0)", modules));
  EXPECT_EQ(plan_of(matched, Side::golden, "0_layer/2_LinearOperation/before/intensor1.bin",
                    modules + "o_proj/weight"),
            fmt::format("weight({}o_proj/weight; 1, 1)", modules));
}

// What only torch has keeps its row.
TEST(AtbTorch, LosesNothing) {
  const Matched matched = match_frames(atb_torch_matcher, atb_model(), torch_model(), {});
  std::set<std::string_view> seen;
  size_t wanted = 0;
  for (const Side side : {Side::mine, Side::golden})
    for (const Node& node : matched.frames.frames(side)[0].nodes) wanted += node.items.size();
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      if (pair.mine) seen.insert(matched.item(Side::mine, *pair.mine).name);
      if (pair.golden) seen.insert(matched.item(Side::golden, *pair.golden).name);
      if (const Plan* const plan = pair.plan(Side::golden))
        for (const PlanSource& part : plan->parts()) seen.insert(matched.item(part.side, part.item).name);
    }
  EXPECT_EQ(seen.size(), wanted);
}

TEST(AtbTorch, WorksWithTheSidesExchanged) {
  const Texts pairs = pairs_of(match_frames(atb_torch_matcher, torch_model(), atb_model(), {}));
  EXPECT_THAT(
      pairs, Contains(kLayer + ".self_attn.k_proj/output.pth|0_layer/2_SplitOperation/after/outtensor1.bin"));
}

TEST(AtbTorch, SaysThatLayersAreMissing) {
  Frame torch = make_op_frame("pytorch", {{.path = "root"},
                                          {.path = "root.layers", .type = "ModuleList"},
                                          {.path = "root.layers.0"},
                                          {.path = "root.layers.0.mlp", .files = {"output.pth"}},
                                          {.path = "root.layers.1"},
                                          {.path = "root.layers.1.mlp", .files = {"output.pth"}}});
  const Matched matched = match_frames(atb_torch_matcher, atb_model(), std::move(torch), {});
  EXPECT_THAT(matched.pairing.warnings,
              ElementsAre(HasSubstr("ATB has 1 layers, torch 2; the first 1 are paired")));
}

TEST(AtbTorch, PairsByAnOperatorMapping) {
  Frame torch = make_op_frame(
      "pytorch", {{.path = "root"},
                  {.path = "root.layers", .type = "ModuleList"},
                  {.path = "root.layers.0"},
                  {.path = "root.layers.0.core", .files = {"output.pth"}, .type = "CoreAttention"}});
  MatchOptions options;
  options.op_mapping =
      std::make_shared<const OpMapping>(OpMapping{{{"SelfAttentionOperation", {"CoreAttention"}}}});
  EXPECT_THAT(
      pairs_of(match_frames(atb_torch_matcher, atb_model(), std::move(torch), options)),
      Contains("0_layer/3_SelfAttentionOperation/after/outtensor0.bin|root.layers.0.core/output.pth"));
}

// A cast or a quantisation has the numbers of what it is given.
TEST(AtbTorch, FollowsAQuantisation) {
  Frame atb = make_op_frame("atb", {{.path = "0_layer"},
                                    {.path = "0_layer/0_RmsNormOperation",
                                     .files = {"after/outtensor0.bin"},
                                     .inputs = {"x"},
                                     .outputs = {"normed"}},
                                    {.path = "0_layer/1_ElewiseOperation",
                                     .files = {"after/outtensor0.bin"},
                                     .inputs = {"normed", "scale", "offset"},
                                     .outputs = {"small"},
                                     .elewise_type = 17}});
  const Texts pairs = pairs_of(match_frames(atb_torch_matcher, std::move(atb), torch_model(), {}));
  EXPECT_THAT(pairs, Contains("0_layer/1_ElewiseOperation/after/outtensor0.bin|" + kLayer +
                              ".input_layernorm/output.pth"));
}

}  // namespace
}  // namespace assay
