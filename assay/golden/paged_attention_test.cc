#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kPagedHides = -10000;

std::vector<OpParam> paged_params(int64_t mask = 0, int64_t heads = 1, int64_t kv_heads = 1) {
  return {param_of("headNum", {heads}), param_of("kvHeadNum", {kv_heads}), param_of("qkScale", {1.0}),
          param_of("maskType", {mask})};
}

OperandPtr paged_lengths(const std::vector<double>& values) {
  return tensor_of(DType::i32, {std::ssize(values)}, values);
}

// Queries of zero: the mean of the values. Three blocks of two tokens; token 0 reads blocks 2 and 0, token 1
// block 1.
GoldenTry paged_means(int64_t mask = 0, std::vector<OperandPtr> extra = {}) {
  GoldenTry run{
      "PagedAttentionOperation",
      paged_params(mask),
      {tensor_of(DType::f16, {2, 1, 1}, {0, 0}), tensor_of(DType::f16, {3, 2, 1, 1}, std::vector<double>(6)),
       tensor_of(DType::f16, {3, 2, 1, 1}, {6, 99, 4, 8, 1, 2}), tensor_of(DType::i32, {2, 2}, {2, 0, 1, -1}),
       paged_lengths({3, 2})}};
  run.in.insert(run.in.end(), extra.begin(), extra.end());
  return run;
}

TEST(GoldenPagedAttention, FollowsTheBlockTable) {
  GoldenTry run = paged_means();
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].dtype, DType::f16);
  EXPECT_THAT(written((*out)[0]), ElementsAre(3, 6));
  run.in[4] = paged_lengths({0, 1});  // no context: zero
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(0, 4));
}

TEST(GoldenPagedAttention, RefusesTablesThatPointNowhere) {
  GoldenTry run = paged_means();
  run.in[4] = paged_lengths({3, 3});  // needs the block -1
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("block 1 of sequence 1 is -1, the cache has 3"));
  run.in[4] = paged_lengths({5, 2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("5 keys: more than 2 blocks of 2"));
  run.in[4] = paged_lengths({-1, 2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("a length of -1"));
  run.in[4] = paged_lengths({3});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("1 contexts for 2 tokens"));
  run.in[4] = paged_lengths({3, 2});
  run.in[3] = tensor_of(DType::i32, {1, 2}, {2, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("the block tables have 1 rows"));
  run.in[3] = tensor_of(DType::i32, {2}, {2, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("block tables have the shape"));
}

TEST(GoldenPagedAttention, AddsMasks) {
  const auto norm = tensor_of(DType::f16, {2, 1, 3}, {0, 0, kPagedHides, kPagedHides, 0, 0});
  EXPECT_THAT(written(paged_means(1, {norm}).run().value()[0]), ElementsAre(1.5, 8));
  const auto alibi = tensor_of(DType::f16, {2, 1, 1, 3}, {kPagedHides, 0, 0, 0, 0, 0});
  EXPECT_THAT(written(paged_means(2, {alibi}).run().value()[0]), ElementsAre(4, 6));
  const auto small = tensor_of(DType::f16, {2, 1, 2}, {0, 0, 0, 0});
  EXPECT_THAT(error_of(paged_means(1, {small}).run()).message, HasSubstr("a mask of 1 x 2"));
  EXPECT_THAT(error_of(paged_means(1).run()).message, HasSubstr("inputs"));
}

TEST(GoldenPagedAttention, LeavesOutBatchesThatDidNotRun) {
  GoldenTry run = paged_means(0, {paged_lengths({1, 0})});
  run.params.push_back(param_of("batchRunStatusEnable", {true}));
  const auto out = run.run();
  EXPECT_THAT(numbers_of(*out.value()[0].known, 100).value().values, ElementsAre(1, 0));
}

TEST(GoldenPagedAttention, Speculates) {
  // Two queries of one sequence of three keys: 1, 2, 6.
  GoldenTry run{
      "PagedAttentionOperation",
      paged_params(3),
      {tensor_of(DType::f16, {2, 1, 1}, {0, 0}), tensor_of(DType::f16, {3, 2, 1, 1}, std::vector<double>(6)),
       tensor_of(DType::f16, {3, 2, 1, 1}, {6, 99, 4, 8, 1, 2}), tensor_of(DType::i32, {1, 2}, {2, 0}),
       paged_lengths({3}), tensor_of(DType::f16, {2, 3}, {0, 0, kPagedHides, kPagedHides, 0, 0}),
       paged_lengths({2})}};
  run.params.push_back(param_of("calcType", {int64_t{1}}));
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(1.5, 4));
  // A square mask has the rows of the positions: those of keys 1 and 2.
  run.params[3] = param_of("maskType", {int64_t{1}});
  run.in[5] = tensor_of(DType::f16, {3, 3}, {0, kPagedHides, kPagedHides, 0, 0, kPagedHides, 0, 0, 0});
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(1.5, 3));
  // The same, made by the kernel itself.
  run.params[3] = param_of("maskType", {int64_t{4}});
  run.in.erase(run.in.begin() + 5);
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(1.5, 3));
  run.in[5] = paged_lengths({3});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("adds up to 3, for 2 rows"));
}

TEST(GoldenPagedAttention, DequantisesTheCache) {
  // Values (v + 1) * 0.5; keys are 0 after theirs.
  const auto cache = tensor_of(DType::i8, {1, 2, 1, 1}, {3, 7});
  GoldenTry run{"PagedAttentionOperation",
                paged_params(),
                {tensor_of(DType::f16, {1, 1, 1}, {5}), cache, cache, tensor_of(DType::i32, {1, 1}, {0}),
                 paged_lengths({2}), tensor_of(DType::f32, {1}, {0}), tensor_of(DType::i32, {1}, {4}),
                 tensor_of(DType::f32, {1}, {0.5}), tensor_of(DType::i32, {1}, {1})}};
  run.params.push_back(param_of("quantType", {int64_t{1}}));
  run.params.push_back(param_of("hasQuantOffset", {true}));
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(3));
  // With empty places for mask and states.
  const auto empty = tensor_of(DType::f16, {0}, {});
  run.in.insert(run.in.begin() + 5, {empty, empty});
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(3));
  run.in[7] = tensor_of(DType::f32, {2}, {0, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("2 scales and 1 offsets for 1 elements"));
  run.params = paged_params();
  run.in.resize(5);
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("the cache is i8"));
}

TEST(GoldenPagedAttention, HasATablePerHeadWhereHeadsAreCompressed) {
  GoldenTry run{
      "PagedAttentionOperation",
      paged_params(0, 2, 2),
      {tensor_of(DType::f16, {1, 2, 1}, {0, 0}), tensor_of(DType::f16, {2, 2, 1, 1}, std::vector<double>(4)),
       tensor_of(DType::f16, {2, 2, 1, 1}, {1, 3, 10, 20}), tensor_of(DType::i32, {2, 1}, {1, 0}),
       paged_lengths({1, 2})}};
  run.params.push_back(param_of("compressType", {int64_t{1}}));
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(10, 2));
  run.in[4] = paged_lengths({1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("1 contexts for 1 tokens"));
  // compressType 2: the second place of the first block weighs three times as much as the first.
  run.params.back() = param_of("compressType", {int64_t{2}});
  run.in[4] = paged_lengths({1, 2});
  run.in.push_back(tensor_of(DType::f32, {2, 2}, {0, std::log(3.0), 7, 0}));
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(10, 2.5));
  run.in.back() = tensor_of(DType::f32, {2}, {0, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("offsets of [2] for 4 places of the cache"));
}

TEST(GoldenPagedAttention, ReadsCachesInBlocksOfColumns) {
  // [1 block, 32 / 16, 2 tokens, 16]: element d of token t is 100 t + d.
  std::vector<double> blocks;
  for (int half = 0; half < 2; ++half)
    for (int token = 0; token < 2; ++token)
      for (int i = 0; i < 16; ++i) blocks.push_back(100 * token + 16 * half + i);
  const auto cache = tensor_of(DType::f16, {1, 2, 2, 16}, blocks);
  GoldenTry run{"PagedAttentionOperation",
                paged_params(),
                {tensor_of(DType::f16, {1, 1, 32}, std::vector<double>(32)), cache, cache,
                 tensor_of(DType::i32, {1, 1}, {0}), paged_lengths({2})}};
  for (const Soc soc : {Soc::unknown, Soc::ascend_310p}) {
    run.soc = soc;
    const auto out = run.run();
    ASSERT_TRUE(out.has_value()) << out.error().message;
    const auto values = written((*out)[0]);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 50 + static_cast<double>(i));
  }
  run.soc = Soc::ascend_910b;
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
}

TEST(GoldenPagedAttention, TakesValuesFromKeys) {
  GoldenTry run{
      "PagedAttentionOperation",
      paged_params(0, 2, 1),
      {tensor_of(DType::bf16, {1, 2, 2}, {0, 0, 0, 0}), tensor_of(DType::bf16, {1, 2, 1, 2}, {1, 7, 3, 7}),
       tensor_of(DType::i32, {1, 1}, {0}), paged_lengths({2})}};
  run.params.push_back(param_of("mlaVHeadSize", {int64_t{1}}));
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].value->meta.shape, (Shape{{1, 2, 1}}));
  EXPECT_THAT(written((*out)[0]), ElementsAre(2, 2));
}

TEST(GoldenPagedAttention, MultipliesScoresByLogarithmicScales) {
  GoldenTry run = paged_means(0, {tensor_of(DType::f32, {2}, {1, 2})});
  run.params.push_back(param_of("scaleType", {int64_t{1}}));
  run.in[0] = tensor_of(DType::f16, {2, 1, 1}, {0, 1});
  run.in[1] = tensor_of(DType::f16, {3, 2, 1, 1}, {0, 0, 1, 0, 0, 0});
  const double e2 = std::exp(2.0);
  EXPECT_THAT(written(run.run().value()[0])[1], DoubleNear((4 * e2 + 8) / (e2 + 1), 0.003));
}

TEST(GoldenPagedAttention, RefusesWhatIsNotComputed) {
  GoldenTry run = paged_means();
  run.params.push_back(param_of("quantType", {int64_t{4}}));
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::bad_argument);
  run.params.back() = param_of("compressType", {int64_t{3}});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::bad_argument);
  run.params.back() = param_of("calcType", {int64_t{2}});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::bad_argument);
  run.params = {};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("headNum is missing"));
  run = paged_means();
  run.in[1] = tensor_of(DType::f16, {3, 2, 2, 1}, std::vector<double>(12));
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
  run = paged_means();
  run.in.resize(3);
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("takes 4 to 13 inputs"));
}

}  // namespace
}  // namespace assay
