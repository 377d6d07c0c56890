#include "assay/match/alike/name_form.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

TEST(NameForm, TakesWrappersRootsFilesAndRanksOff) {
  EXPECT_EQ(form_of("module.model.layers.3.mlp.w").plain, "layers.3.mlp.w");
  EXPECT_EQ(form_of("_orig_mod.layers.3._fsdp_wrapped_module.mlp.w").plain, "layers.3.mlp.w");
  EXPECT_EQ(form_of("_modules.fc._parameters.weight").plain, "fc.weight");
  EXPECT_EQ(form_of("transformer/layers/3/mlp/w.npy").plain, "layers.3.mlp.w");
  EXPECT_EQ(form_of("model-00001-of-00002.safetensors:model.layers.3.mlp.w").plain, "layers.3.mlp.w");
}

TEST(NameForm, KeepsTheFileOfShortNamesAndOfNpz) {
  EXPECT_NE(form_of("op1.pt:out").plain, form_of("op2.pt:out").plain);
  EXPECT_NE(form_of("op1.npz:layer.out").plain, form_of("op2.npz:layer.out").plain);
}

TEST(NameForm, KeepsAWordOfWhateverKind) {
  EXPECT_EQ(form_of("model").plain, "model");
  EXPECT_EQ(form_of("model.module.weight").plain, "weight");
}

TEST(NameForm, ReadsTheRankOfAPath) {
  EXPECT_EQ(form_of("mp_rank_03/model.pt:layers.0.w").rank, 3);
  EXPECT_EQ(form_of("rank1/layers.0.w.npy").rank, 1);
  EXPECT_EQ(form_of("tp-2/w.npy").rank, 2);
  EXPECT_EQ(form_of("layers.7.w.npy").rank, -1);
  EXPECT_EQ(form_of("model_states_7.pt:w").rank, -1);
  EXPECT_EQ(form_of("rank1/layers.0.w.npy").plain, "layers.0.w");
}

TEST(NameForm, ReadsRanksAndStagesOfShards) {
  EXPECT_EQ(form_of("ds/mp_rank_03_model_states.pt:module.layers.0.w").rank, 3);
  const NameForm megatron = form_of("iter_7/mp_rank_01_002/model_optim_rng.pt:model.layers.0.w");
  EXPECT_EQ(megatron.rank, 1);
  EXPECT_EQ(megatron.stage, 2);
  EXPECT_EQ(form_of("tp_rank_01_pp_rank_002.pt:a.layers.0.w").stage, 2);
  const NameForm first = form_of("zero_pp_rank_0_mp_rank_01_optim_states.pt:state.0.flat"),
                 second = form_of("zero_pp_rank_1_mp_rank_01_optim_states.pt:state.0.flat");
  EXPECT_EQ(first.plain, second.plain);
  EXPECT_LT(first.rank, second.rank);
  EXPECT_EQ(form_of("model-00001-of-00003.safetensors:layers.0.w").rank, -1);
}

TEST(NameForm, ReadsTheRankOfFilesOfOtherSystems) {
  EXPECT_EQ(form_of("llama/consolidated.03.pth:layers.0.attention.wq.weight").rank, 3);
  EXPECT_EQ(form_of("llama/consolidated.03.pth:layers.0.attention.wq.weight").plain,
            "layers.0.attention.wq.weight");
  EXPECT_EQ(form_of("consolidated.pth:layers.0.w").rank, -1);
  const NameForm first = form_of("model-rank-1-part-0.safetensors:model.layers.0.w"),
                 second = form_of("model-rank-1-part-1.safetensors:model.layers.1.w");
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(second.rank, 1);
  EXPECT_EQ(form_of("model_world_size_4_rank_2.pt:layers.0.w").rank, 2);
  EXPECT_EQ(form_of("pytorch_model_fsdp_rank3.bin:layers.0.w").rank, 3);
  const NameForm both = form_of("model_weight_pp-rank-1-of-2_tp-rank-3-of-4.safetensors:layers.0.w");
  EXPECT_EQ(both.rank, 3);
  EXPECT_EQ(both.stage, 1);
  const NameForm layer = form_of("layer_03-model_01-model_states.pt:mlp.dense.weight");
  EXPECT_EQ(layer.rank, 1);
  EXPECT_EQ(layer.plain, "layers.3.mlp.dense.weight");
}

TEST(NameForm, NumbersLayersThroughAllStages) {
  std::vector<NameForm> forms;
  for (const char* name : {"mp_rank_00_000/m.pt:layers.0.w", "mp_rank_00_000/m.pt:layers.1.w",
                           "mp_rank_00_001/m.pt:layers.0.w", "mp_rank_00_001/m.pt:final.norm"})
    forms.push_back(form_of(name));
  number_through(forms);
  EXPECT_EQ(forms[1].plain, "layers.1.w");
  EXPECT_EQ(forms[2].plain, "layers.2.w");
  EXPECT_THAT(forms[2].numbers, ElementsAre(2));
  EXPECT_EQ(forms[3].plain, "final.norm");
}

TEST(NameForm, ShowsThePatternAndItsNumbers) {
  const NameForm form = form_of("model.layers.12.experts.3.w1");
  EXPECT_EQ(form.pattern, "layers.#.experts.#.w#");
  EXPECT_THAT(form.numbers, ElementsAre(12, 3, 1));
}

TEST(NameForm, SaysWhatNamesDifferBy) {
  EXPECT_EQ(difference_of("model.layers.0.w", "layers.0.w"), "the prefix 'model.'");
  EXPECT_EQ(difference_of("a/b", "a.b"), "prefixes, files and separators");
}

TEST(NameForm, LikenessCountsCommonWordsAndNumbersTwice) {
  EXPECT_EQ(likeness("layers.0.norm", "layers.0.norm"), 1);
  EXPECT_EQ(likeness("abc", "xyz"), 0);
  EXPECT_GT(likeness("decoder.layers.3.norm", "layers.3.layernorm"),
            likeness("decoder.layers.3.norm", "layers.4.norm"));
}

}  // namespace
}  // namespace assay
