#include "assay/compat/msprobe/module_key.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string key(Side side, TrainingBackend backend, std::string_view entry) {
  return ModuleKeys(side, backend).next(entry).value_or("none");
}

constexpr TrainingBackend kFsdp = TrainingBackend::fsdp, kMegatron = TrainingBackend::megatron;

// Call, layer, purpose.
TEST(ModuleKeys, OfFsdpNameWhatInferenceJoins) {
  const std::string_view layer = "Module._fsdp_wrapped_module.model.layers.12._fsdp_wrapped_module.";
  for (const std::string_view part : {"q", "k", "v"})
    EXPECT_EQ(key(Side::mine, kFsdp,
                  std::string(layer) + "self_attn." + std::string(part) + "_proj.Linear.forward.0"),
              "forward.0\n12\nqkv_proj");
  EXPECT_EQ(key(Side::golden, kFsdp, "Module.model.layers.12.self_attn.qkv_proj.QKVParallelLinear.forward.0"),
            "forward.0\n12\nqkv_proj");
  EXPECT_EQ(key(Side::mine, kFsdp, "Module._fsdp_wrapped_module.lm_head.Linear.forward.0"),
            "forward.0\n-1\nlm_head");
}

TEST(ModuleKeys, OfMegatronHaveTheNamesOfInference) {
  EXPECT_EQ(key(Side::mine, kMegatron,
                "Module.0.module.module.decoder.layers.3.mlp.linear_fc2.RowParallelLinear.forward.0"),
            "forward.0\n3\ndown_proj");
  EXPECT_EQ(key(Side::golden, kMegatron, "Module.model.layers.3.mlp.down_proj.RowParallelLinear.forward.0"),
            "forward.0\n3\ndown_proj");
  EXPECT_EQ(key(Side::mine, kMegatron,
                "Module.0.module.module.embedding.word_embeddings.VocabParallelEmbedding.forward.0"),
            "forward.0\n-1\nembed_tokens");
}

TEST(ModuleKeys, CallsOfTrainingCountAnew) {
  ModuleKeys keys(Side::mine, kFsdp);
  EXPECT_EQ(keys.next("Module.a.Linear.forward.3"), "forward.0\n-1\na");
  EXPECT_EQ(keys.next("Module.a.Linear.forward.7"), "forward.1\n-1\na");
  EXPECT_EQ(keys.next("Module.a.Linear.backward.7"), "backward.7\n-1\na");
  EXPECT_EQ(ModuleKeys(Side::golden, kFsdp).next("Module.a.Linear.forward.3"), "forward.3\n-1\na");
}

TEST(ModuleKeys, BetweenTwoRunsOfTheModelNothingIsRead) {
  ModuleKeys keys(Side::mine, kFsdp);
  EXPECT_FALSE(keys.next("Module.model.Qwen2Model.backward.0"));
  EXPECT_FALSE(keys.next("Module.a.Linear.forward.0"));
  EXPECT_TRUE(keys.next("Module.model.embed_tokens.Embedding.forward.1"));
  EXPECT_TRUE(keys.next("Module.a.Linear.forward.1"));
  EXPECT_FALSE(keys.next("odd"));
  EXPECT_FALSE(ModuleKeys(Side::golden, kFsdp).next("a.b.c"));  // neither forwards nor backwards
}

}  // namespace
}  // namespace assay
