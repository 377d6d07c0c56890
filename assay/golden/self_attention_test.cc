#include "assay/golden/golden_test_tools.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;

constexpr double kSelfInf = std::numeric_limits<double>::infinity();

std::vector<OpParam> self_params(int64_t calc, int64_t mask = 0, int64_t heads = 1, int64_t kv_heads = 1) {
  return {param_of("headNum", {heads}), param_of("kvHeadNum", {kv_heads}), param_of("qkScale", {1.0}),
          param_of("qScale", {1.0}),    param_of("calcType", {calc}),      param_of("maskType", {mask})};
}

OperandPtr self_lengths(const std::vector<double>& values) {
  return tensor_of(DType::i32, {std::ssize(values)}, values);
}

// Queries of zero see all keys alike: the answer is the mean of the values that the mask leaves.
GoldenTry self_means(int64_t mask, std::vector<OperandPtr> extra, DType dtype = DType::f32) {
  GoldenTry run{"SelfAttentionOperation",
                self_params(3, mask),
                {tensor_of(dtype, {3, 1, 1}, {0, 0, 0}), tensor_of(dtype, {3, 1, 1}, {1, 2, 3}),
                 tensor_of(dtype, {3, 1, 1}, {3, 6, 12})}};
  run.in.insert(run.in.end(), extra.begin(), extra.end());
  return run;
}

TEST(GoldenSelfAttention, WeighsByTheExponential) {
  // Scores ln 2 and 0 weigh 2 : 1.
  GoldenTry run{
      "SelfAttentionOperation",
      self_params(3),
      {tensor_of(DType::f32, {2, 1, 1}, {1, 0}), tensor_of(DType::f32, {2, 1, 1}, {std::log(2.0), 0}),
       tensor_of(DType::f32, {2, 1, 1}, {3, 9}), self_lengths({2})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].dtype, DType::f32);
  EXPECT_THAT(numbers_of(*(*out)[0].value, 1000).value().values,
              ElementsAre(DoubleNear(5, 1e-6), DoubleNear(6, 1e-9)));
  EXPECT_THAT(allowed_of((*out)[0]), Each(Le(1e-4)));
  // The scale, and the clamp after it.
  run.params[2] = param_of("qkScale", {2.0});
  EXPECT_THAT(numbers_of(*run.run().value()[0].value, 1000).value().values[0],
              DoubleNear((4 * 3 + 9) / 5.0, 1e-6));
  run.params.push_back(param_of("clampType", {int64_t{1}}));
  run.params.push_back(param_of("clampMin", {-1.0}));
  run.params.push_back(param_of("clampMax", {0.0}));
  EXPECT_THAT(numbers_of(*run.run().value()[0].value, 1000).value().values[0], DoubleNear(6, 1e-9));
}

TEST(GoldenSelfAttention, SharesKeysAmongHeads) {
  // Two heads of queries per head of keys; values tell the heads apart.
  GoldenTry run{"SelfAttentionOperation",
                self_params(3, 0, 4, 2),
                {tensor_of(DType::f16, {1, 4, 1}, {0, 0, 0, 0}), tensor_of(DType::f16, {1, 2, 1}, {1, 1}),
                 tensor_of(DType::f16, {1, 2, 2}, {1, 2, 3, 4}), self_lengths({1})}};
  const auto out = run.run();
  EXPECT_EQ(out.value()[0].value->meta.shape, (Shape{{1, 4, 2}}));
  EXPECT_THAT(written(out.value()[0]), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  run.params[1] = param_of("kvHeadNum", {int64_t{3}});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("headNum 4 with kvHeadNum 3"));
  run.params[1] = param_of("kvHeadNum", {int64_t{0}});  // as many as of queries
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("keys of 2 elements are not 4 heads of 1"));
}

// 1 / 27939 is 600.5 of the smallest steps of f16: rounded, all weights are off by half a step, 2^-10.2 of
// themselves.
TEST(GoldenSelfAttention, AllowsWhatF16MakesOfManySmallWeights) {
  constexpr int64_t kKeys = 27939;
  const std::vector<double> ones(kKeys + 1, 1);
  GoldenTry run{"SelfAttentionOperation",
                self_params(3),
                {tensor_of(DType::f16, {2, 1, 1}, {0, 0}), tensor_of(DType::f16, {kKeys + 1, 1, 1}, ones),
                 tensor_of(DType::f16, {kKeys + 1, 1, 1}, ones),
                 tensor_of(DType::i32, {2, 2}, {1, 1, double{kKeys}, 1})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  const double weight = std::nearbyint(0x1p24 / kKeys) * 0x1p-24;
  const std::vector<double> allowed = allowed_of((*out)[0]);
  EXPECT_GT(allowed[0], std::abs(weight * kKeys - 1));
  EXPECT_LT(allowed[0], 0x1p-9);
  EXPECT_LT(allowed[1], 0x1.9p-10);  // one key: as ever
}

// Scores of 10^12, which f32 holds to about 10^5: which of two keys weighs all of it, nobody can tell. One
// key does.
TEST(GoldenSelfAttention, LeavesOutWhatAnyMixtureOfValuesWouldPass) {
  GoldenTry run{"SelfAttentionOperation",
                self_params(3),
                {tensor_of(DType::f16, {3, 1, 1}, {1, 1, 1}), tensor_of(DType::f16, {3, 1, 1}, {1, 1, 1}),
                 tensor_of(DType::f16, {3, 1, 1}, {2, 4, 8}), self_lengths({3})}};
  EXPECT_EQ(run.run().value()[0].known, nullptr);
  run.params[2] = param_of("qkScale", {1e12});
  const auto out = run.run();
  ASSERT_TRUE(out.has_value() && (*out)[0].known != nullptr);
  EXPECT_THAT(numbers_of(*(*out)[0].known, 1000).value().values, ElementsAre(0, 0, 0));
  EXPECT_THAT((*out)[0].note, HasSubstr("leaves nothing of some elements"));
}

TEST(GoldenSelfAttention, KeepsSamplesApart) {
  GoldenTry run = self_means(0, {self_lengths({1, 2})});
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(3, 9, 9));
  run.in[3] = self_lengths({1, 1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("adds up to 2, for 3 rows"));
  run.in[3] = self_lengths({4, -1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("a length of -1"));
  run.in[3] = tensor_of(DType::f32, {1}, {3});
  EXPECT_FALSE(run.run().has_value());
}

TEST(GoldenSelfAttention, AddsMasks) {
  const double hides = -10000;
  const auto square = tensor_of(DType::f32, {3, 3}, {0, 1, 1, 0, 0, 1, 1, 0, 0});
  // Of f32 and bf16 a mask says which keys are hidden, of f16 what is added.
  EXPECT_THAT(written(self_means(1, {square, self_lengths({3})}).run().value()[0]), ElementsAre(3, 4.5, 9));
  const auto added = tensor_of(DType::f16, {3, 3}, {0, hides, hides, 0, 0, hides, hides, 0, 0});
  EXPECT_THAT(written(self_means(1, {added, self_lengths({3})}, DType::f16).run().value()[0]),
              ElementsAre(3, 4.5, 9));
  GoldenTry precise = self_means(
      1, {tensor_of(DType::f32, {3, 3}, {0, hides, hides, 0, 0, hides, hides, 0, 0}), self_lengths({3})});
  precise.params.push_back(param_of("kernelType", {int64_t{1}}));
  EXPECT_THAT(written(precise.run().value()[0]), ElementsAre(3, 4.5, 9));
  // Per sample; and one that is too small is the triangle that it was cut from.
  const auto both = tensor_of(DType::f32, {2, 1, 2, 2}, {0, 0, 0, 0, 0, 1, 0, 1});
  EXPECT_THAT(written(self_means(1, {both, self_lengths({1, 2})}).run().value()[0]), ElementsAre(3, 6, 6));
  const auto small = tensor_of(DType::f32, {2, 2}, {0, 1, 0, 0});
  for (const int64_t type : {1, 3})
    EXPECT_THAT(written(self_means(type, {small, self_lengths({3})}).run().value()[0]),
                ElementsAre(3, 4.5, 7));
  EXPECT_THAT(written(self_means(9, {self_lengths({3})}).run().value()[0]), ElementsAre(3, 4.5, 7));
  EXPECT_THAT(error_of(self_means(2, {small, self_lengths({3})}).run()).message,
              HasSubstr("a mask of 2 x 2"));
  EXPECT_THAT(
      error_of(self_means(1, {tensor_of(DType::f32, {3}, {0, 0, 0}), self_lengths({3})}).run()).message,
      HasSubstr("a mask of shape [3]"));
}

TEST(GoldenSelfAttention, HidesWhatLeavesTheWindow) {
  GoldenTry run = self_means(8, {tensor_of(DType::f32, {1, 1}, {0}), self_lengths({3})});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("windowSize is 0"));
  run.params.push_back(param_of("windowSize", {int64_t{2}}));
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(3, 4.5, 9));
}

TEST(GoldenSelfAttention, StretchesCompressedAlibi) {
  // Slope -ln 2: each step back halves the weight, beyond the two rows of the mask as well.
  const double slope = -std::log(2.0);
  const auto mask = tensor_of(DType::f32, {2, 2}, {0, 60000, 1, 0});
  const auto slopes = tensor_of(DType::f32, {1}, {slope});
  const auto by_distance = written(self_means(4, {mask, self_lengths({3}), slopes}).run().value()[0]);
  EXPECT_THAT(by_distance,
              ElementsAre(3, DoubleNear((1.5 + 6) / 1.5, 1e-5), DoubleNear((0.75 + 3 + 12) / 1.75, 1e-5)));
  const double root = std::pow(2.0, -std::sqrt(2.0));
  EXPECT_THAT(written(self_means(5, {mask, self_lengths({3}), slopes}).run().value()[0])[2],
              DoubleNear((root * 3 + 0.5 * 6 + 12) / (root + 1.5), 1e-5));
  const auto left = tensor_of(DType::f32, {2, 2}, {0, -kSelfInf, 0, 1});
  const auto rising = tensor_of(DType::f32, {1}, {-slope});
  EXPECT_THAT(written(self_means(6, {left, self_lengths({3}), rising}).run().value()[0])[2],
              DoubleNear((3 + 2 * 6 + 4 * 12) / 7.0, 1e-5));
  EXPECT_THAT(
      error_of(self_means(4, {mask, self_lengths({3}), tensor_of(DType::f32, {2}, {1, 1})}).run()).message,
      HasSubstr("2 slopes for 1 heads"));
}

TEST(GoldenSelfAttention, TakesValuesFromKeys) {
  GoldenTry run{"SelfAttentionOperation",
                self_params(3),
                {tensor_of(DType::f16, {2, 1, 2}, {0, 0, 0, 0}),
                 tensor_of(DType::f16, {2, 1, 2}, {1, 7, 3, 7}), self_lengths({2})}};
  run.params.push_back(param_of("mlaVHeadSize", {int64_t{1}}));
  const auto out = run.run();
  EXPECT_EQ(out.value()[0].value->meta.shape, (Shape{{2, 1, 1}}));
  EXPECT_THAT(written(out.value()[0]), ElementsAre(2, 2));
  run.params.back() = param_of("mlaVHeadSize", {int64_t{3}});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("mlaVHeadSize 3 of keys of 2"));
}

// [2 layers, 2 batches, 3 tokens, 1]: values of layer 1, batch 1 are 10, 20, 30.
OperandPtr layer_values() {
  return tensor_of(DType::f16, {2, 2, 3, 1}, {9, 9, 9, 9, 9, 9, 1, 2, 3, 10, 20, 30});
}

GoldenTry bypassing() {
  auto params = self_params(2);
  params.push_back(param_of("kvcacheCfg", {int64_t{1}}));
  return {
      "SelfAttentionOperation",
      params,
      {tensor_of(DType::f16, {3, 1}, {0, 0, 0}), tensor_of(DType::f16, {2, 2, 3, 1}, std::vector<double>(12)),
       layer_values(), self_lengths({3, 2}), self_lengths({1, 2}), self_lengths({1})}};
}

TEST(GoldenSelfAttention, ReadsKeysFromTheCache) {
  GoldenTry run = bypassing();
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(2, 15, 15));
  run.in[3] = self_lengths({4, 2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("a length of 4, where at most 3"));
  run.in[3] = self_lengths({3, 2, 1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("2 lengths of queries, 3 of keys"));
  run.in[3] = self_lengths({3, 2});
  run.in[5] = self_lengths({2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("layer 2 of 2"));
}

TEST(GoldenSelfAttention, LeavesOutBatchesThatDidNotRun) {
  GoldenTry run = bypassing();
  run.params.push_back(param_of("batchRunStatusEnable", {true}));
  run.in.push_back(self_lengths({0, 1}));
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(numbers_of(*(*out)[0].known, 1000).value().values, ElementsAre(0, 1, 1));
  EXPECT_THAT((*out)[0].note, HasSubstr("did not run"));
  EXPECT_THAT(written((*out)[0])[1], 15);
}

TEST(GoldenSelfAttention, PutsNewKeysBehindThoseOfTheCache) {
  // Batch 0 has two old values 1, 2 and the new one 6; batch 1 only the new ones 8 and 4, the second hidden.
  GoldenTry run{
      "SelfAttentionOperation",
      self_params(0, 1),
      {tensor_of(DType::f16, {3, 1}, {0, 0, 0}), tensor_of(DType::f16, {3, 1}, {0, 0, 0}),
       tensor_of(DType::f16, {3, 1}, {6, 8, 4}), tensor_of(DType::f16, {2, 2, 3, 1}, std::vector<double>(12)),
       layer_values(), tensor_of(DType::f16, {3, 3}, {0, 0, 0, 0, -10000, 0, 0, 0, 0}), self_lengths({3, 2}),
       self_lengths({1, 2}), self_lengths({1})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(DoubleNear(3, 0.002), 6, 8));
  run.in[6] = self_lengths({3, 1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("batch 1 has 1 tokens, 2 of them new"));
  run.in[6] = self_lengths({5, 2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("a cache of 3"));
}

TEST(GoldenSelfAttention, ReadsPrefixesFromBlocks) {
  // Blocks of two tokens; the sequence is block 2, then block 0.
  GoldenTry run{
      "SelfAttentionOperation",
      self_params(4, 9),
      {tensor_of(DType::f16, {2, 1, 1}, {0, 0}), tensor_of(DType::f16, {3, 2, 1, 1}, std::vector<double>(6)),
       tensor_of(DType::f16, {3, 2, 1, 1}, {4, 100, 7, 7, 1, 2}), tensor_of(DType::i32, {1, 2}, {2, 0}),
       self_lengths({2}), self_lengths({3})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(1.5, DoubleNear(7.0 / 3, 0.001)));
  run.in[3] = tensor_of(DType::i32, {1, 2}, {2, 3});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("block 1 of sequence 0 is 3, the cache has 3"));
}

TEST(GoldenSelfAttention, FollowsWhatIsNotFinite) {
  GoldenTry run =
      self_means(1,
                 {tensor_of(DType::f16, {3, 3}, {-kSelfInf, -kSelfInf, -kSelfInf, 0, 0, 0, -kSelfInf, 0, 0}),
                  self_lengths({3})},
                 DType::f16);
  const auto values = written(run.run().value()[0]);
  EXPECT_TRUE(std::isnan(values[0]));  // nothing to attend to
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(values[2], 9);
  run = self_means(0, {self_lengths({3})}, DType::f16);
  run.in[0] = tensor_of(DType::f16, {3, 1, 1}, {0, std::nan(""), 0});
  const auto with_nan = written(run.run().value()[0]);
  EXPECT_EQ(with_nan[0], 7);
  EXPECT_TRUE(std::isnan(with_nan[1]));
}

TEST(GoldenSelfAttention, TakesNoTokens) {
  const auto out = GoldenTry{"SelfAttentionOperation",
                             self_params(3),
                             {tensor_of(DType::f16, {0, 1, 1}, {}), tensor_of(DType::f16, {0, 1, 1}, {}),
                              tensor_of(DType::f16, {0, 1, 1}, {}), self_lengths({0})}}
                       .run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].value->meta.shape.count(), 0);
}

TEST(GoldenSelfAttention, RefusesWhatIsNotComputed) {
  GoldenTry run = self_means(0, {self_lengths({3})});
  run.params.push_back(param_of("quantType", {int64_t{1}}));
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::unsupported);
  run = self_means(0, {self_lengths({3})});
  run.params[4] = param_of("calcType", {int64_t{9}});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("calcType is 9"));
  run = self_means(11, {self_lengths({3})});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("maskType is 11"));
  run.params = {};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("headNum is missing"));
  run = self_means(1, {self_lengths({3})});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("inputs"));
  run = self_means(0, {self_lengths({3})});
  run.in[1] = tensor_of(DType::f32, {2, 1, 1}, {1, 2});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
}

}  // namespace
}  // namespace assay
