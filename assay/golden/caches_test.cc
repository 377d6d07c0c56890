#include "assay/golden/golden_test_tools.h"

#include <numeric>

namespace assay {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// first, first + 1, … under a shape.
OperandPtr from_on(double first, DType dtype, std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(Shape{dims}.count()));
  std::iota(values.begin(), values.end(), first);
  return tensor_of(dtype, std::move(dims), values);
}

OperandPtr zeros(DType dtype, std::vector<int64_t> dims) {
  const auto count = static_cast<size_t>(Shape{dims}.count());
  return tensor_of(dtype, std::move(dims), std::vector<double>(count, 0));
}

std::vector<double> cached(const GoldenTry& call, size_t output = 0) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  return outputs ? written((*outputs)[output]) : std::vector<double>();
}

TEST(GoldenKvCache, WritesTheLastTokens) {
  // Two layers, two samples, room for three tokens of two.
  GoldenTry call{
      "KvCacheOperation",
      {},
      {from_on(1, DType::f16, {3, 2}), tensor_of(DType::i32, {1}, {1}), zeros(DType::f16, {2, 2, 3, 2}),
       tensor_of(DType::i32, {2}, {3, 1}), tensor_of(DType::i32, {2}, {2, 1})}};
  const std::vector<double> after = cached(call);
  ASSERT_EQ(after.size(), 24u);
  EXPECT_THAT(std::vector(after.begin(), after.begin() + 12), Each(0));
  EXPECT_THAT(std::vector(after.begin() + 12, after.end()), ElementsAre(0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0));
  call.in[2] = call.run().value()[0].value;  // written once more: the same
  EXPECT_EQ(cached(call), after);
  call.in[3] = tensor_of(DType::i32, {2}, {4, 1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("2 tokens up to 4 of sample 0 do not fit"));
  call.in[3] = tensor_of(DType::i32, {2}, {1, 1});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.in[3] = tensor_of(DType::i32, {2}, {3, 1});
  call.in[4] = tensor_of(DType::i32, {2}, {2, 2});  // four tokens of three
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.in[1] = tensor_of(DType::i32, {1}, {2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("layer 2 is none of the 2"));
}

GoldenTry reshape_and_cache() {
  return {
      "ReshapeAndCacheOperation",
      {param_of("compressType", {int64_t{0}}), param_of("kvCacheCfg", {int64_t{0}})},
      {from_on(1, DType::f16, {3, 1, 2}), from_on(11, DType::f16, {3, 1, 2}), zeros(DType::f16, {2, 2, 1, 2}),
       zeros(DType::f16, {2, 2, 1, 2}), tensor_of(DType::i32, {3}, {0, 3, -1})}};
}

TEST(GoldenReshapeAndCache, WritesSlotsAndSkipsNegativeOnes) {
  GoldenTry call = reshape_and_cache();
  EXPECT_THAT(cached(call), ElementsAre(1, 2, 0, 0, 0, 0, 3, 4));
  EXPECT_THAT(cached(call, 1), ElementsAre(11, 12, 0, 0, 0, 0, 13, 14));
  EXPECT_FALSE(call.run().value()[0].rounds());
  call.in[4] = tensor_of(DType::i32, {3}, {0, 4, -1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("slot 4 lies outside the cache of 4 slots"));
  call.in[4] = tensor_of(DType::i32, {2}, {0, 3});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("2 slots for 3 tokens"));
  call.in[2] = zeros(DType::f16, {2, 2, 2, 2});
  EXPECT_FALSE(call.run().has_value());
  call.in[2] = zeros(DType::f32, {2, 2, 1, 2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("different types"));
  call.params[0] = param_of("compressType", {int64_t{3}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("none of 0, 1, 2"));
}

TEST(GoldenReshapeAndCache, WritesKeysAlone) {
  GoldenTry call = reshape_and_cache();
  call.params[1] = param_of("kvCacheCfg", {int64_t{1}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 3 inputs, the dump has 5"));
  call.in = {call.in[0], call.in[2], call.in[4]};
  EXPECT_THAT(cached(call), ElementsAre(1, 2, 0, 0, 0, 0, 3, 4));
  EXPECT_EQ(call.run().value().size(), 1u);
  call.params[0] = param_of("compressType", {int64_t{1}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("does not go with kvCacheCfg 1"));
}

// One token of two heads of 16 in slot 1 of two: the first half of it lies at 16, the second at 48.
TEST(GoldenReshapeAndCache, WritesTiles) {
  GoldenTry call{
      "ReshapeAndCacheOperation",
      {param_of("compressType", {int64_t{0}})},
      {from_on(1, DType::f16, {1, 2, 16}), from_on(101, DType::f16, {1, 2, 16}),
       zeros(DType::f16, {1, 2, 2, 16}), zeros(DType::f16, {1, 2, 2, 16}), tensor_of(DType::i32, {1}, {1})},
      {},
      Soc::ascend_310p};
  std::vector<double> keys = cached(call);
  EXPECT_EQ(keys[15], 0);
  EXPECT_EQ(keys[16], 1);
  EXPECT_EQ(keys[31], 16);
  EXPECT_EQ(keys[32], 0);
  EXPECT_EQ(keys[48], 17);
  EXPECT_EQ(cached(call, 1)[63], 132);
  call.soc = Soc::ascend_910b;  // rows, which fit as well: slot 1 begins at 32
  EXPECT_EQ(cached(call)[32], 1);
  EXPECT_EQ(cached(call)[16], 0);
  call.params.push_back(param_of("kvCacheCfg", {int64_t{2}}));
  EXPECT_EQ(cached(call), keys);
  // Told by the shape alone: three slots, which rows do not have.
  call.params.pop_back();
  call.soc = Soc::unknown;
  call.in[2] = call.in[3] = zeros(DType::f16, {1, 2, 3, 16});
  EXPECT_EQ(cached(call)[16], 1);
  EXPECT_EQ(cached(call)[64], 17);
  call.soc = Soc::ascend_910b;
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("does not fit tokens of 2 heads of 16"));
}

// Two samples of three and two tokens, two heads, width 1: element = 10 · token + head.
GoldenTry compressed(int64_t type) {
  const OperandPtr tokens = tensor_of(DType::f16, {5, 2, 1}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  return {"ReshapeAndCacheOperation",
          {param_of("compressType", {type}), param_of("kvCacheCfg", {int64_t{0}})},
          {tokens, tokens, tensor_of(DType::f16, {3, 4, 1, 1}, std::vector<double>(12, -1)),
           tensor_of(DType::f16, {3, 4, 1, 1}, std::vector<double>(12, -1)),
           tensor_of(DType::i32, {4}, {0, 3, -1, 7}), tensor_of(DType::i32, {4}, {2, 1, 2, 2}),
           tensor_of(DType::i32, {2}, {3, 2})}};
}

TEST(GoldenReshapeAndCache, KeepsTheLastTokensOfEachHead) {
  GoldenTry call = compressed(1);
  EXPECT_THAT(cached(call), ElementsAre(10, 20, -1, 21, -1, -1, -1, 31, 41, -1, -1, -1));
  call.in[5] = tensor_of(DType::i32, {4}, {4, 1, 2, 2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("a window of 4 in a sample of 3 tokens"));
  call.in[5] = tensor_of(DType::i32, {4}, {2, 1, 2, 2});
  call.in[6] = tensor_of(DType::i32, {2}, {3, 3});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("longer than the 5 tokens"));
  call.in[6] = tensor_of(DType::i32, {2}, {3, 2});
  call.in[4] = tensor_of(DType::i32, {4}, {0, 3, -1, 11});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("slot 12 lies outside"));
}

// Head 0 of sample 0: a window of 2 from token 1 on becomes its mean 15. Head 1: all tokens. Head 1 of sample
// 1: a window of 2 from token 0 on, the mean of 31 and 41.
TEST(GoldenReshapeAndCache, MergesAWindowOfEachHead) {
  GoldenTry call = compressed(2);
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 8 inputs"));
  call.in.push_back(tensor_of(DType::i32, {4}, {1, -1, 0, 0}));
  EXPECT_THAT(cached(call), ElementsAre(0, 15, -1, 1, 11, 21, -1, 36, -1, -1, -1, -1));
  const std::vector<double> allowed = allowed_of(call.run().value()[0]);
  EXPECT_EQ(allowed[0], 0);
  EXPECT_GT(allowed[1], 0);
  EXPECT_LT(allowed[1], 30 * 0x1p-20);
  call.in[7] = tensor_of(DType::i32, {4}, {2, -1, 0, 0});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("a window of 2 from token 2"));
  call.in[7] = tensor_of(DType::i32, {1}, {1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("1 offsets for 4 slots"));
}

TEST(GoldenBlockCopy, CopiesBlocks) {
  GoldenTry call{"BlockCopyOperation",
                 {},
                 {from_on(0, DType::f16, {4, 1, 2}), from_on(10, DType::f16, {4, 1, 2}),
                  tensor_of(DType::i32, {2}, {0, 2}), tensor_of(DType::i32, {2}, {3, 1}),
                  tensor_of(DType::i32, {2}, {1, 2})}};
  EXPECT_THAT(cached(call), ElementsAre(0, 1, 4, 5, 4, 5, 0, 1));
  EXPECT_THAT(cached(call, 1), ElementsAre(10, 11, 14, 15, 14, 15, 10, 11));
  call.in[3] = tensor_of(DType::i32, {2}, {2, 1});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::unsupported);
  call.in[3] = tensor_of(DType::i32, {2}, {4, 1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("from block 0 to block 4 of 4"));
  call.in[4] = tensor_of(DType::i32, {2}, {1, 3});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
}

}  // namespace
}  // namespace assay
