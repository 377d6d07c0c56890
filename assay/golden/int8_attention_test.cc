#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

constexpr double kHalfStep = 0.53125;  // half a step, and what f16 rounds of a quotient

OperandPtr one_head(const std::vector<double>& factor) {
  return tensor_of(DType::f32, {std::ssize(factor)}, factor);
}

// Scores ln 2 and 0 weigh 2 : 1, so the values 3 and 9 give 5, and half of it by their factor.
GoldenTry paged_int8(int64_t quant) {
  GoldenTry run{
      "PagedAttentionOperation",
      {param_of("headNum", {int64_t{1}}), param_of("kvHeadNum", {int64_t{1}}), param_of("qkScale", {1.0}),
       param_of("quantType", {quant}), param_of("outDataType", {int64_t{1}})},
      {tensor_of(DType::i8, {1, 1, 1}, {1}), tensor_of(DType::i8, {1, 2, 1, 1}, {1, 0}),
       tensor_of(DType::i8, {1, 2, 1, 1}, {3, 9}), tensor_of(DType::i32, {1, 1}, {0}),
       tensor_of(DType::i32, {1}, {2}), one_head({std::log(2.0)}), one_head({0.5})}};
  if (quant == 2) run.in.push_back(one_head({50}));
  return run;
}

GoldenTry self_int8(int64_t quant) {
  const auto unused = tensor_of(DType::i32, {1}, {0});
  GoldenTry run{
      "SelfAttentionOperation",
      {param_of("headNum", {int64_t{1}}), param_of("qkScale", {1.0}), param_of("calcType", {int64_t{3}}),
       param_of("quantType", {quant}), param_of("outDataType", {int64_t{27}})},
      {tensor_of(DType::i8, {2, 1, 1}, {1, 0}), tensor_of(DType::i8, {2, 1, 1}, {1, 0}),
       tensor_of(DType::i8, {2, 1, 1}, {3, 9}), tensor_of(DType::i32, {1}, {2}), one_head({std::log(2.0)}),
       unused, one_head({0.5}), unused}};
  if (quant == 2) run.in.push_back(one_head({0.02}));
  return run;
}

TEST(GoldenInt8Attention, ScalesScoresAndValuesByHead) {
  const auto paged = paged_int8(3).run();
  ASSERT_TRUE(paged.has_value()) << paged.error().message;
  EXPECT_EQ((*paged)[0].dtype, DType::f16);
  EXPECT_THAT(written((*paged)[0])[0], DoubleNear(2.5, 0.002));
  const auto self = self_int8(3).run();
  ASSERT_TRUE(self.has_value()) << self.error().message;
  EXPECT_EQ((*self)[0].dtype, DType::bf16);
  EXPECT_THAT(written((*self)[0])[0], DoubleNear(2.5, 0.01));
  EXPECT_THAT(written((*self)[0])[1], DoubleNear(3, 0.01));  // a query of zero: the mean
}

TEST(GoldenInt8Attention, AllowsHalfAStepOfEachWeight) {
  // By blocks 1/127: both weights, 1 and 1/2 of a sum of 3/2, may be off by half of it.
  const double step = 1.0 / 127;
  EXPECT_THAT(allowed_of(paged_int8(3).run().value()[0])[0],
              DoubleNear(kHalfStep * step * (3 + 9) / 1.5 * 0.5, 1e-4));
  // By a scale that is given: 1/50, or 0.02.
  EXPECT_THAT(allowed_of(paged_int8(2).run().value()[0])[0],
              DoubleNear(kHalfStep * 0.02 * (3 + 9) / 1.5 * 25, 0.01));
  EXPECT_THAT(allowed_of(self_int8(2).run().value()[0])[0],
              DoubleNear(kHalfStep * 0.02 * (3 + 9) / 1.5 * 0.5, 1e-3));
}

TEST(GoldenInt8Attention, MultipliesByAScaleThatOnlyTheSelfAttentionUndoes) {
  EXPECT_THAT(written(paged_int8(2).run().value()[0])[0], DoubleNear(125, 0.1));
  EXPECT_THAT(written(self_int8(2).run().value()[0])[0], DoubleNear(2.5, 0.01));
}

TEST(GoldenInt8Attention, MayLoseKeysOfLittleWeight) {
  GoldenTry run = paged_int8(3);
  run.in[5] = one_head({std::log(1000.0)});
  // 1 and 1/1000, which is less than half a step: the first may be off by half of one, the other by itself.
  const double sum = 1.001, lost = (kHalfStep / 127 * 3 + 0.001 * 9) / sum * 0.5;
  EXPECT_LE(allowed_of(run.run().value()[0])[0], (kHalfStep / 127 * 3 + 0.001 * 9 * 1.01) / sum * 0.5);
  EXPECT_GE(allowed_of(run.run().value()[0])[0], lost * 0.99);
}

TEST(GoldenInt8Attention, MayCutOffWhatInt8CannotHold) {
  GoldenTry run = paged_int8(2);
  run.in[7] = one_head({254});  // twice what int8 holds
  const double step = 1.0 / 254, cut = 0.5;
  const double worst = (cut + kHalfStep * step) * 3 + (cut * 0.5 + kHalfStep * step) * 9;
  EXPECT_THAT(allowed_of(run.run().value()[0])[0], DoubleNear(worst / 1.5 * 127, 1));
}

TEST(GoldenInt8Attention, RefusesWhatDoesNotFit) {
  GoldenTry run = paged_int8(2);
  run.in[7] = one_head({0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("pScale of head 0 is 0"));
  run.in[7] = one_head({NAN});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("pScale of head 0 is nan"));
  run.in.pop_back();
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("inputs"));
  run = paged_int8(3);
  run.in[6] = one_head({0.5, 0.5});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("the factor of values has 2 elements for 1 heads"));
  run = paged_int8(3);
  run.in[1] = tensor_of(DType::f16, {1, 2, 1, 1}, {1, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("caches of f16 and i8 beside queries of int8"));
  run = paged_int8(3);
  run.in[0] = tensor_of(DType::f16, {1, 1, 1}, {1});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
  run = paged_int8(3);
  run.params.back() = param_of("outDataType", {int64_t{-1}});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("outDataType does not say"));
  run.out = {TensorMeta{DType::bf16, Shape{{1, 1, 1}}}};
  EXPECT_EQ(run.run().value()[0].dtype, DType::bf16);  // what was written does
  run.params.push_back(param_of("compressType", {int64_t{1}}));
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("quantType 3 goes without compressType"));
  run = self_int8(3);
  run.params[2] = param_of("calcType", {int64_t{2}});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("quantType 3 is for a PA encoder"));
  run = self_int8(3);
  run.in[2] = tensor_of(DType::f16, {2, 1, 1}, {3, 9});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
  run = self_int8(3);
  run.params.push_back(param_of("qScale", {2.0}));
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay
