#include "assay/model/op_kind.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using enum OpKind;

TEST(OpKind, OfAtb) {
  EXPECT_EQ(kind_of_atb("GatingOperation"), dispatch);
  EXPECT_EQ(kind_of_atb("MoeInitRoutingOperation"), dispatch);
  EXPECT_EQ(kind_of_atb("MoeTokenUnpermuteOperation"), combine);
  EXPECT_EQ(kind_of_atb("MoeFinalizeRoutingOperation"), combine);
  EXPECT_EQ(kind_of_atb("LinearOperation"), product);
  EXPECT_EQ(kind_of_atb("W8A8Operation"), product);
  EXPECT_EQ(kind_of_atb("RmsNormOperation"), norm);
  EXPECT_EQ(kind_of_atb("LayerNormOperation"), layer_norm);
  EXPECT_EQ(kind_of_atb("PagedAttentionOperation"), attention);
  EXPECT_EQ(kind_of_atb("GatherOperation"), gather);
  EXPECT_EQ(kind_of_atb("AllGatherOperation"), collective);
  EXPECT_EQ(kind_of_atb("AllReduceOperation"), all_reduce);
  EXPECT_EQ(kind_of_atb("Decoder_layer"), unknown);
}

TEST(OpKind, BlocksOfAtbAreNamedByUsers) {
  const auto is = [](std::string_view type, AtbBlock which) { return is_atb_block(type, which); };
  EXPECT_TRUE(is("Decoder_layer", AtbBlock::layer));
  EXPECT_TRUE(is("QKVLinearSplitPack", AtbBlock::query_key_value));
  EXPECT_TRUE(is("FusionAttention", AtbBlock::attention));
  for (const char* const type : {"Mlp", "FFN", "SparseMoe"}) EXPECT_TRUE(is(type, AtbBlock::mlp)) << type;
  EXPECT_TRUE(is("WordEmbedding", AtbBlock::embedding));
  EXPECT_FALSE(is("PositionalEmbeddingGather", AtbBlock::embedding));
  for (const char* const type : {"LmHead", "lm_head"}) EXPECT_TRUE(is(type, AtbBlock::logits)) << type;
  EXPECT_FALSE(is("LinearOperation", AtbBlock::attention));
  EXPECT_TRUE(is_atb_cache("ReshapeAndCacheOperation"));
  EXPECT_FALSE(is_atb_cache("RopeOperation"));
}

TEST(OpKind, ExchangesBetweenRanks) {
  EXPECT_TRUE(is_exchange_entry("Distributed.all_reduce.0.forward"));
  EXPECT_FALSE(is_exchange_entry("Functional.linear.0.forward"));
  EXPECT_TRUE(is_receive_entry("Distributed.irecv.0.forward"));
  EXPECT_FALSE(is_receive_entry("Distributed.isend.0.forward"));
  EXPECT_FALSE(is_receive_entry("Module.recv.Linear.forward.0"));
}

TEST(OpKind, OfAnElementWiseOperationOfAtbIsItsNumber) {
  EXPECT_EQ(kind_of_atb("ElewiseOperation", 1), cast);
  EXPECT_EQ(kind_of_atb("ElewiseOperation", 6), quantise);
  EXPECT_EQ(kind_of_atb("ElewiseOperation", 8), sum);
  EXPECT_EQ(kind_of_atb("ElewiseOperation", 9), elementwise);
  EXPECT_EQ(kind_of_atb("ElewiseOperation", 18), dequantise);
  EXPECT_EQ(kind_of_atb("ElewiseOperation"), elementwise);
}

TEST(OpKind, OfTheGraphEngine) {
  EXPECT_EQ(kind_of_ge("BatchMatMulV2"), product);
  EXPECT_EQ(kind_of_ge("QuantBatchMatmulV3"), product);
  EXPECT_EQ(kind_of_ge("TransposeBatchMatMul"), product);
  EXPECT_EQ(kind_of_ge("PromptFlashAttention"), attention);
  EXPECT_EQ(kind_of_ge("AddV2"), sum);
  EXPECT_EQ(kind_of_ge("AddRmsNorm"), norm);
  EXPECT_EQ(kind_of_ge("ConstPlaceHolder"), given);
  EXPECT_TRUE(is_ge_constant("FileConstant"));
  EXPECT_FALSE(is_ge_constant("RefData"));
  EXPECT_EQ(kind_of_ge("Cast"), cast);
  EXPECT_EQ(kind_of_ge("BroadcastTo"), unknown);
  EXPECT_EQ(kind_of_ge("TransData"), layout);
  EXPECT_EQ(kind_of_ge("Transpose"), view);
  EXPECT_EQ(kind_of_ge("AscendDequant"), dequantise);
  EXPECT_EQ(kind_of_ge("HcomAllReduce"), all_reduce);
  EXPECT_TRUE(changes_form_only(kind_of_ge("TransData")));
  EXPECT_TRUE(hands_on(kind_of_ge("TransData")));
  EXPECT_FALSE(changes_form_only(kind_of_ge("Reshape")));
}

TEST(OpKind, OfFx) {
  EXPECT_EQ(kind_of_fx("aten.mm.default"), product);
  EXPECT_EQ(kind_of_fx("aten.addmm.default"), product);
  EXPECT_EQ(kind_of_fx("aten.add.Tensor"), sum);
  EXPECT_EQ(kind_of_fx("aten.add_.Tensor"), sum);
  EXPECT_EQ(kind_of_fx("torch.ops.aten.rsub.Scalar"), sum);
  EXPECT_EQ(kind_of_fx("npu.npu_rms_norm.default"), norm);
  EXPECT_EQ(kind_of_fx("aten.native_layer_norm.default"), layer_norm);
  EXPECT_EQ(kind_of_fx("aten._to_copy.default"), cast);
  EXPECT_EQ(kind_of_fx("aten.convolution.default"), product);
  EXPECT_EQ(kind_of_fx(""), unknown);
}

TEST(OpKind, QuantisedTypesOfAtb) {
  EXPECT_EQ(float_type("W8A8Operation"), "LinearOperation");
  EXPECT_EQ(float_type("LinearDequantOnly"), "LinearNoQuant");
  EXPECT_EQ(float_type("Linear"), "Linear");
  EXPECT_TRUE(names_quantisation("LinearQuantOperation"));
  EXPECT_FALSE(names_quantisation("LinearNoQuant"));
  EXPECT_FALSE(names_quantisation("UnquantLinear"));
  EXPECT_TRUE(is_atb_row_parallel("LinearRowParallelAndAdd"));
  EXPECT_FALSE(is_atb_row_parallel("LinearOperation"));
}

TEST(OpKind, OfModulesAndEntries) {
  EXPECT_EQ(kind_of_module("LlamaRMSNorm"), norm);
  EXPECT_EQ(kind_of_module("LlamaRotaryEmbedding"), rope);
  EXPECT_EQ(kind_of_module("Embedding"), gather);
  EXPECT_EQ(kind_of_entry("Functional.linear.0.forward"), product);
  EXPECT_EQ(kind_of_entry("Tensor.__matmul__.3.backward"), product);
  EXPECT_EQ(kind_of_entry("Tensor.__iadd__.3.forward"), sum);
  EXPECT_EQ(kind_of_entry("Module.layers.0.norm.LayerNorm.forward.0"), layer_norm);
  EXPECT_EQ(kind_of_entry("Cell.dense.Dense.backward.1"), product);
  EXPECT_EQ(kind_of_entry("Module"), unknown);
  EXPECT_EQ(kind_of("pytorch", "Linear"), product);
  EXPECT_EQ(kind_of("pytorch", "Torch.bmm.0.forward"), product);
  EXPECT_EQ(kind_of("mindspore", "Mint.matmul.2.forward"), product);
}

TEST(OpTrait, IsThatOfTheFunctionOrTheClass) {
  EXPECT_EQ(trait_of_entry("Functional.conv2d.0.forward"), OpTrait::convolution);
  EXPECT_EQ(trait_of_entry("Module.layer1.0.bn1.BatchNorm2d.forward.0"), OpTrait::none);
  EXPECT_EQ(trait_of_entry("Module.relu_of.0.act.LeakyReLU.backward.0"), OpTrait::bend);
  EXPECT_EQ(trait_of_entry("Functional.max_pool2d.0.backward"), OpTrait::bend);
  EXPECT_EQ(trait_of_entry("Functional.adaptive_avg_pool2d.0.forward"), OpTrait::mean);
  EXPECT_EQ(trait_of_entry("Tensor.pow.3.forward"), OpTrait::power);
  EXPECT_EQ(trait_of_entry("Functional.log_softmax.0.forward"), OpTrait::logarithm);
  EXPECT_EQ(trait_of_entry("Functional.gelu.0.forward"), OpTrait::none);
  EXPECT_EQ(trait_of_entry("NPU.npu_swiglu.0.forward"), OpTrait::gate);
  EXPECT_EQ(trait_of_entry("nothing"), OpTrait::none);
}

TEST(OpKind, TellsWhatChoosesAndWhatReduces) {
  EXPECT_EQ(kind_of_entry("Torch.topk.0.forward"), OpKind::selection);
  EXPECT_EQ(kind_of_entry("Tensor.__gt__.0.forward"), OpKind::selection);
  EXPECT_EQ(kind_of_entry("Tensor.mean.0.forward"), OpKind::reduction);
  EXPECT_EQ(kind_of_entry("Torch.exp.0.forward"), OpKind::exponential);
  EXPECT_EQ(kind_of_entry("Tensor.__getitem__.0.forward"), OpKind::split);
  EXPECT_EQ(kind_of_entry("Tensor.__truediv__.0.forward"), OpKind::elementwise);
}

}  // namespace
}  // namespace assay
