#include "assay/match/alike/known_name.h"

#include "assay/match/alike/name_form.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

// "layers.3.weight q", with the expert where there is one.
std::string known(std::string_view name) {
  const auto found = known_name_of(form_of(name).plain);
  if (!found) return "";
  std::string text = found->place + " " + std::string(found->what);
  if (found->expert >= 0) text += " " + std::to_string(found->expert);
  return text + (found->is_stacked ? " all" : "");
}

TEST(KnownNames, OneTensorHasOneNameInAllSystems) {
  for (const char* name :
       {"model.layers.3.self_attn.q_proj.weight", "layers.3.attention.wq.weight",
        "bert.encoder.layer.3.attention.self.query.weight", "transformer.h.3.attn.q.weight"})
    EXPECT_EQ(known(name), "layers.3.weight q") << name;
  for (const char* name :
       {"model.layers.0.self_attn.qkv_proj.bias", "h.0.self_attention.query_key_value.bias",
        "transformer.h.0.attn.c_attn.bias", "decoder.layers.0.self_attention.linear_qkv.bias",
        "gpt_neox.layers.0.attention.query_key_value.bias"})
    EXPECT_EQ(known(name), "layers.0.bias qkv") << name;
  for (const char* name :
       {"model.layers.1.input_layernorm.weight", "layers.1.attention_norm.weight",
        "transformer.h.1.ln_1.weight", "decoder.layers.1.self_attention.linear_qkv.layer_norm_weight"})
    EXPECT_EQ(known(name), "layers.1.weight norm1") << name;
  for (const char* name : {"model.embed_tokens.weight", "tok_embeddings.weight", "transformer.wte.weight",
                           "embedding.word_embeddings.weight"})
    EXPECT_EQ(known(name), ".weight embedding") << name;
}

TEST(KnownNames, WhatALetterMeansDependsOnItsModule) {
  EXPECT_EQ(known("layers.0.feed_forward.w2.weight"), "layers.0.weight down");
  EXPECT_EQ(known("layers.0.mlp.w2.weight"), "");  // the gate in one system, the way down in another
  EXPECT_EQ(known("h.0.attn.c_proj.weight"), "layers.0.weight o");
  EXPECT_EQ(known("h.0.mlp.c_proj.weight"), "layers.0.weight down");
}

TEST(KnownNames, ExpertsHaveNumbers) {
  EXPECT_EQ(known("model.layers.2.mlp.experts.7.up_proj.weight"), "layers.2.weight up 7");
  EXPECT_EQ(known("model.layers.2.block_sparse_moe.experts.7.w3.weight"), "layers.2.weight up 7");
  EXPECT_EQ(known("model.layers.2.mlp.experts.w13_weight"), "layers.2.weight gate_up all");
}

TEST(KnownNames, LatentAttentionAndNormsHaveTheirPlaces) {
  EXPECT_EQ(known("layers.2.attn.wkv_a.weight"), "layers.2.weight kv_down");
  EXPECT_EQ(known("model.layers.2.self_attn.kv_a_proj_with_mqa.weight"), "layers.2.weight kv_down");
  EXPECT_EQ(known("decoder.layers.2.self_attention.linear_kv_up_proj.layer_norm_weight"),
            "layers.2.weight kv_norm");
  EXPECT_EQ(known("layers.2.ffn.gate.bias"), "layers.2.bias router");
  EXPECT_EQ(known("decoder.layers.2.mlp.router.expert_bias"), "layers.2.bias router");
  EXPECT_EQ(known("decoder.layers.2.mlp.experts.linear_fc1.weight3"), "layers.2.weight fc_in 3");
  EXPECT_EQ(known("model.layers.2.pre_feedforward_layernorm.weight"), "layers.2.weight norm2");
  EXPECT_TRUE(may_be_behind_attention(*known_name_of("layers.2.post_attention_layernorm.weight")));
  EXPECT_FALSE(may_be_behind_attention(*known_name_of("layers.2.pre_feedforward_layernorm.weight")));
}

TEST(KnownNames, TellsAnEncoderFromADecoder) {
  EXPECT_EQ(known_name_of("encoder.blocks.1.attn.query.weight")->stack, "encoder");
  EXPECT_EQ(known_name_of("decoder.layers.1.self_attn.q_proj.weight")->stack, "decoder");
  EXPECT_EQ(known_name_of("layers.1.self_attn.q_proj.weight")->stack, "");
  EXPECT_EQ(known("decoder.blocks.1.cross_attn.query.weight"), "layers.1.weight cross_q");
}

TEST(KnownNames, WhatIsInALayerHasASeatWhateverStandsInFrontOfIt) {
  EXPECT_EQ(seat_of("backbone.layers.3.mixer.D").name, "layers.3.mixer.d");
  EXPECT_EQ(seat_of("decoder.layers.3.mixer.D").name, "layers.3.mixer.d");
  EXPECT_EQ(seat_of("decoder.layers.3.mixer.D").stack, "decoder");
  EXPECT_EQ(seat_of("vision.layers.3.mixer.D").name, "vision.layers.3.mixer.d");
  EXPECT_EQ(seat_of("embeddings.weight").name, "");
  EXPECT_EQ(seat_of("layers.3").name, "");
}

TEST(KnownNames, OthersAreNone) {
  for (const char* name :
       {"", "weight", "layers.0.weight", "layers.0.self_attn.q_proj",
        "layers.0.self_attn.q_proj.weight_scale", "layers.0.cross_attn.q_proj.lora_B.weight", "q_proj.weight",
        "layers.0.self_attn.q_proj.lora_A.weight"})
    EXPECT_EQ(known(name), "") << name;
  // Another tower of the same model is another place.
  EXPECT_EQ(known("vision.layers.0.self_attn.q_proj.weight"), "vision.layers.0.weight q");
}

TEST(KnownNames, WordsHintAtWhatATensorIs) {
  EXPECT_EQ(hint_of("blocks.0.a.key.w"), "key");
  EXPECT_EQ(hint_of("layers.0.k_proj.weight"), "key");
  EXPECT_EQ(hint_of("blocks.0.values"), "value");
  EXPECT_EQ(hint_of("layers.0.qkv.weight"), "");
  EXPECT_EQ(hint_of("layers.0.query_key_value"), "");
}

}  // namespace
TEST(KnownName, TellsNormsOfWholeStatesFromThoseOfHeads) {
  for (const std::string_view name : {"model.norm.weight", "transformer.ln_f.weight", "h.0.ln_1.bias",
                                      "layers.0.input_layernorm.weight", "tower.0.pre_norm.scale"})
    EXPECT_TRUE(is_norm_of_states(name)) << name;
  for (const std::string_view name :
       {"layers.0.self_attn.q_norm.weight", "layers.0.attn.key_norm.weight", "lm_head.weight"})
    EXPECT_FALSE(is_norm_of_states(name)) << name;
}

}  // namespace assay
