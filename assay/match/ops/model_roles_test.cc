#include "assay/match/ops/model_roles.h"

#include "assay/match/ops/op_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "path>0" for an output, "path<0" for an input.
Texts found(const Graph& tree, const Roles& roles, const RolePlace& place) {
  Texts texts;
  if (const auto at = roles.find(place); at != roles.end())
    for (const PortOfOp& source : at->second)
      texts.push_back(fmt::format("{}{}{}{}", tree.at(source.op).path,
                                  source.port.direction == Direction::input ? '<' : '>', source.port.index,
                                  source.is_partial ? " (a term)" : ""));
  return texts;
}

std::vector<TestOp> modules(const Texts& names) {
  std::vector<TestOp> ops;
  for (const std::string& name : names) ops.push_back({.path = name});
  return ops;
}

TEST(TorchRoles, FindsTheLayersOfLlama) {
  Texts names = {"root", "root.model", "root.model.embed_tokens", "root.model.layers"};
  for (const std::string layer : {"root.model.layers.0", "root.model.layers.1"})
    for (const std::string part :
         {"", ".self_attn", ".self_attn.q_proj", ".self_attn.k_proj", ".self_attn.v_proj",
          ".self_attn.o_proj", ".mlp", ".mlp.gate_proj", ".mlp.up_proj", ".mlp.down_proj", ".mlp.act_fn",
          ".input_layernorm", ".post_attention_layernorm"})
      names.push_back(layer + part);
  names.insert(names.end(), {"root.model.norm", "root.lm_head"});
  std::vector<TestOp> ops = modules(names);
  ops[3].type = "ModuleList";
  const Frame frame = make_op_frame("pytorch", ops);
  const Roles roles = roles_of_torch(frame.tree());
  const auto role = [&](int32_t layer, Role which) { return found(frame.tree(), roles, {layer, which}); };
  EXPECT_EQ(torch_layers(frame.tree()).size(), 2U);
  EXPECT_THAT(role(1, Role::query), ElementsAre("root.model.layers.1.self_attn.q_proj>0"));
  EXPECT_THAT(role(1, Role::key), ElementsAre("root.model.layers.1.self_attn.k_proj>0"));
  EXPECT_THAT(role(0, Role::value), ElementsAre("root.model.layers.0.self_attn.v_proj>0"));
  EXPECT_THAT(role(0, Role::context), ElementsAre("root.model.layers.0.self_attn.o_proj<0"));
  EXPECT_THAT(role(0, Role::gated), ElementsAre("root.model.layers.0.mlp.down_proj<0"));
  EXPECT_THAT(role(0, Role::mlp_norm), ElementsAre("root.model.layers.0.post_attention_layernorm>0"));
  EXPECT_THAT(role(-1, Role::final_norm), ElementsAre("root.model.norm>0"));
  EXPECT_THAT(role(-1, Role::logits), ElementsAre("root.lm_head>0"));
}

TEST(TorchRoles, TellsTheTwoProjectionsOfGpt2Apart) {
  Texts names = {"root", "root.h"};
  for (const std::string layer : {"root.h.0", "root.h.1"})
    for (const std::string part :
         {"", ".attn", ".attn.c_attn", ".attn.c_proj", ".mlp", ".mlp.c_fc", ".mlp.c_proj"})
      names.push_back(layer + part);
  std::vector<TestOp> ops = modules(names);
  ops[1].type = "ModuleList";
  const Frame frame = make_op_frame("pytorch", ops);
  const Roles roles = roles_of_torch(frame.tree());
  EXPECT_THAT(found(frame.tree(), roles, {0, Role::output_projection}),
              ElementsAre("root.h.0.attn.c_proj>0"));
  EXPECT_THAT(found(frame.tree(), roles, {0, Role::down}), ElementsAre("root.h.0.mlp.c_proj>0"));
  EXPECT_THAT(found(frame.tree(), roles, {1, Role::query_key_value}), ElementsAre("root.h.1.attn.c_attn>0"));
}

TEST(TorchRoles, OfAnEmptyTreeAreNone) {
  EXPECT_THAT(roles_of_torch(Graph()), IsEmpty());
  EXPECT_THAT(torch_layers(Graph()), IsEmpty());
}

TestOp linear(const std::string& path) { return {.path = path, .has_bias = false}; }

TEST(AtbRoles, NamesThreeProjectionsInOrder) {
  const Frame frame = make_op_frame("atb", {{.path = "0_Prefill_layer"},
                                            {.path = "0_Prefill_layer/0_RmsNormOperation"},
                                            linear("0_Prefill_layer/1_LinearOperation"),
                                            linear("0_Prefill_layer/2_LinearOperation"),
                                            linear("0_Prefill_layer/3_LinearOperation"),
                                            {.path = "0_Prefill_layer/4_SelfAttentionOperation"},
                                            linear("0_Prefill_layer/5_LinearOperation")});
  const Roles roles = roles_of_atb(frame);
  const auto role = [&](Role which) { return found(frame.tree(), roles, {0, which}); };
  EXPECT_THAT(role(Role::attention_norm), ElementsAre("0_Prefill_layer/0_RmsNormOperation>0"));
  EXPECT_THAT(role(Role::query), ElementsAre("0_Prefill_layer/1_LinearOperation>0"));
  EXPECT_THAT(role(Role::key), ElementsAre("0_Prefill_layer/2_LinearOperation>0"));
  EXPECT_THAT(role(Role::value), ElementsAre("0_Prefill_layer/3_LinearOperation>0"));
  EXPECT_THAT(role(Role::context), ElementsAre("0_Prefill_layer/4_SelfAttentionOperation>0"));
  EXPECT_THAT(role(Role::output_projection), ElementsAre("0_Prefill_layer/5_LinearOperation>0"));
}

TEST(AtbRoles, TakesTheSplitOfAFusedProjectionForItsParts) {
  const Frame frame = make_op_frame("atb", {{.path = "0_layer"},
                                            {.path = "0_layer/0_Attention"},
                                            linear("0_layer/0_Attention/0_LinearOperation"),
                                            {.path = "0_layer/0_Attention/1_SplitOperation"},
                                            {.path = "0_layer/0_Attention/2_SelfAttentionOperation"}});
  const Roles roles = roles_of_atb(frame);
  EXPECT_THAT(found(frame.tree(), roles, {0, Role::query_key_value}),
              ElementsAre("0_layer/0_Attention/0_LinearOperation>0"));
  EXPECT_THAT(found(frame.tree(), roles, {0, Role::key}),
              ElementsAre("0_layer/0_Attention/1_SplitOperation>1"));
  EXPECT_THAT(found(frame.tree(), roles, {0, Role::value}),
              ElementsAre("0_layer/0_Attention/1_SplitOperation>2"));
}

// Each rank multiplies with its share of the weight; their sum is what the module gives.
TEST(AtbRoles, TakesTheSumOfTheRanks) {
  const Frame frame =
      make_op_frame("atb", {{.path = "0_layer"},
                            {.path = "0_layer/0_Attention"},
                            {.path = "0_layer/0_Attention/0_SelfAttentionOperation"},
                            {.path = "0_layer/0_Attention/1_LinearRowParallelNoAdd"},
                            linear("0_layer/0_Attention/1_LinearRowParallelNoAdd/0_LinearOperation"),
                            {.path = "0_layer/0_Attention/1_LinearRowParallelNoAdd/1_AllReduceOperation"}});
  EXPECT_THAT(found(frame.tree(), roles_of_atb(frame), {0, Role::output_projection}),
              ElementsAre("0_layer/0_Attention/1_LinearRowParallelNoAdd/1_AllReduceOperation>0"));
}

// An operator that gives what it takes, in blocks or not, as the names of tensors say.
TestOp named(const std::string& path, const Texts& inputs, const Texts& outputs) {
  TestOp op{.path = path, .inputs = inputs, .outputs = outputs};
  if (path.ends_with("LinearOperation")) op.has_bias = false;
  if (path.ends_with("ElewiseOperation")) op.elewise_type = 8;
  return op;
}

TEST(AtbRoles, FollowsValuesOutOfBlocks) {
  const Frame frame = make_op_frame(
      "atb", {named("0_layer", {"x"}, {"y"}), named("0_layer/0_Attention", {"x"}, {"sum"}),
              named("0_layer/0_Attention/0_LinearOperation", {"x", "w"}, {"qkv"}),
              named("0_layer/0_Attention/1_SelfAttentionPA", {"qkv"}, {"context"}),
              named("0_layer/0_Attention/1_SelfAttentionPA/0_SelfAttentionOperation", {"qkv"}, {"context"}),
              named("0_layer/0_Attention/2_LinearRowParallelNoAdd", {"context"}, {"sum"}),
              named("0_layer/0_Attention/2_LinearRowParallelNoAdd/0_LinearNoQuant", {"context"}, {"term"}),
              named("0_layer/0_Attention/2_LinearRowParallelNoAdd/0_LinearNoQuant/0_LinearOperation",
                    {"context", "wo"}, {"term"}),
              named("0_layer/0_Attention/2_LinearRowParallelNoAdd/1_AllReduceOperation", {"term"}, {"sum"}),
              named("0_layer/1_ElewiseOperation", {"x", "sum"}, {"y"})});
  const Roles roles = roles_of_atb(frame);
  const auto role = [&](Role which) { return found(frame.tree(), roles, {0, which}); };
  const std::string block = "0_layer/0_Attention/2_LinearRowParallelNoAdd";
  EXPECT_THAT(role(Role::output_projection),
              ElementsAre(block + "/1_AllReduceOperation>0",
                          block + "/0_LinearNoQuant/0_LinearOperation>0 (a term)"));
  // What the graph around the attention gives is not what the module of that name gives.
  EXPECT_THAT(role(Role::attention), ElementsAre("0_layer/0_Attention>0"));
  EXPECT_THAT(role(Role::context),
              ElementsAre("0_layer/0_Attention/1_SelfAttentionPA/0_SelfAttentionOperation>0"));
}

// A residual of one row has the shape of a bias.
TEST(AtbRoles, TellsABiasFromAResidualByWhatMadeIt) {
  TestOp bias = named("0_layer/3_ElewiseOperation", {"z", "b"}, {"biased"});
  bias.weight = "b";
  const Frame frame = make_op_frame(
      "atb", {named("0_layer", {"x"}, {"y"}), named("0_layer/0_LinearOperation", {"x", "w"}, {"qkv"}),
              named("0_layer/1_SelfAttentionOperation", {"qkv"}, {"context"}),
              named("0_layer/2_LinearOperation", {"context", "wo"}, {"z"}), bias,
              named("0_layer/4_ElewiseOperation", {"biased", "x"}, {"y"})});
  EXPECT_THAT(found(frame.tree(), roles_of_atb(frame), {0, Role::output_projection}),
              ElementsAre("0_layer/3_ElewiseOperation>0"));
}

TEST(AtbRoles, TellsExpertsFromTheirRouterAndFromTheSharedOne) {
  const Frame frame = make_op_frame(
      "atb", {named("0_layer", {"x"}, {"y"}), named("0_layer/0_LinearOperation", {"x", "w"}, {"qkv"}),
              named("0_layer/1_SelfAttentionOperation", {"qkv"}, {"context"}),
              named("0_layer/2_LinearOperation", {"context", "wo"}, {"attn"}),
              named("0_layer/3_ElewiseOperation", {"x", "attn"}, {"middle"}),
              named("0_layer/4_RmsNormOperation", {"middle", "wn"}, {"normed"}),
              named("0_layer/5_LinearOperation", {"normed", "wr"}, {"scores"}),
              named("0_layer/6_SoftmaxOperation", {"scores"}, {"soft"}),
              named("0_layer/7_MoeInitRoutingOperation", {"normed", "soft"}, {"rows", "groups"}),
              named("0_layer/8_GroupedMatmulOperation", {"rows", "w13", "groups"}, {"both"}),
              named("0_layer/9_ActivationOperation", {"both"}, {"gated"}),
              named("0_layer/10_GroupedMatmulOperation", {"gated", "w2", "groups"}, {"down"}),
              named("0_layer/11_MoeTokenUnpermuteOperation", {"down", "soft"}, {"routed"}),
              named("0_layer/12_LinearOperation", {"normed", "ws"}, {"s"}),
              named("0_layer/13_ActivationOperation", {"s"}, {"sa"}),
              named("0_layer/14_LinearOperation", {"sa", "wt"}, {"shared"}),
              named("0_layer/15_ElewiseOperation", {"routed", "shared"}, {"moe"}),
              named("0_layer/16_ElewiseOperation", {"middle", "moe"}, {"y"})});
  const Roles roles = roles_of_atb(frame);
  const auto role = [&](Role which, Branch branch) {
    return found(frame.tree(), roles, {0, which, 0, branch});
  };
  EXPECT_THAT(role(Role::router, Branch::plain), ElementsAre("0_layer/5_LinearOperation>0"));
  EXPECT_THAT(role(Role::gate_up, Branch::experts), ElementsAre("0_layer/8_GroupedMatmulOperation>0"));
  EXPECT_THAT(role(Role::down, Branch::experts), ElementsAre("0_layer/10_GroupedMatmulOperation>0"));
  EXPECT_THAT(role(Role::up, Branch::shared), ElementsAre("0_layer/12_LinearOperation>0"));
  EXPECT_THAT(role(Role::down, Branch::shared), ElementsAre("0_layer/14_LinearOperation>0"));
  EXPECT_THAT(role(Role::mlp_norm, Branch::plain), ElementsAre("0_layer/4_RmsNormOperation>0"));
}

TEST(AtbRoles, TakesDequantisedSums) {
  const Frame frame =
      make_op_frame("atb", {{.path = "0_layer"},
                            {.path = "0_layer/0_Mlp"},
                            linear("0_layer/0_Mlp/0_LinearOperation"),
                            {.path = "0_layer/0_Mlp/1_LinearQuantOperation", .has_bias = true},
                            {.path = "0_layer/0_Mlp/2_ElewiseOperation", .elewise_type = 18}});
  EXPECT_THAT(found(frame.tree(), roles_of_atb(frame), {0, Role::down}),
              ElementsAre("0_layer/0_Mlp/2_ElewiseOperation>0"));
}

// The second operand tells a bias, which is a vector, from a residual.
TEST(AtbRoles, TellsABiasFromAResidual) {
  for (const bool is_bias : {true, false}) {
    TestOp add{
        .path = "0_layer/0_Mlp/2_ElewiseOperation", .files = {"before/intensor1.bin"}, .elewise_type = 8};
    add.dims = is_bias ? std::vector<int64_t>{4} : std::vector<int64_t>{2, 4};
    const Frame frame = make_op_frame("atb", {{.path = "0_layer"},
                                              {.path = "0_layer/0_Mlp"},
                                              linear("0_layer/0_Mlp/0_LinearOperation"),
                                              linear("0_layer/0_Mlp/1_LinearOperation"),
                                              add});
    EXPECT_THAT(
        found(frame.tree(), roles_of_atb(frame), {0, Role::down}),
        ElementsAre(is_bias ? "0_layer/0_Mlp/2_ElewiseOperation>0" : "0_layer/0_Mlp/1_LinearOperation>0"));
  }
}

TEST(AtbRoles, FindsWhatStandsOutsideTheLayers) {
  const Frame frame = make_op_frame("atb", {{.path = "0_WordEmbedding"},
                                            {.path = "1_Prefill_layer"},
                                            {.path = "1_Prefill_layer/0_LinearOperation"},
                                            {.path = "2_RmsNormOperation"},
                                            {.path = "3_LmHead"},
                                            {.path = "3_LmHead/0_LinearOperation"}});
  const Roles roles = roles_of_atb(frame);
  EXPECT_THAT(found(frame.tree(), roles, {-1, Role::embedding}), ElementsAre("0_WordEmbedding>0"));
  EXPECT_THAT(found(frame.tree(), roles, {-1, Role::final_norm}), ElementsAre("2_RmsNormOperation>0"));
  EXPECT_THAT(found(frame.tree(), roles, {-1, Role::logits}),
              ElementsAre("3_LmHead>0", "3_LmHead/0_LinearOperation>0"));
}

}  // namespace
}  // namespace assay
