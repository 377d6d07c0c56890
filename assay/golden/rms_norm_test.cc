#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

// Parameters inside the object that belongs to the layer type.
GoldenTry rms_try(int64_t layer, std::vector<OperandPtr> in, std::vector<OpParam> own = {}) {
  const std::string object = layer == 1 ? "normParam." : layer == 2 ? "preNormParam." : "postNormParam.";
  for (OpParam& each : own) each.key = object + each.key;
  own.push_back(param_of("layerType", {layer}));
  return {"RmsNormOperation", std::move(own), std::move(in)};
}

OpParam flag(std::string key) { return param_of(std::move(key), {int64_t{1}}); }
OpParam quant_type(int64_t type) { return param_of("quantType", {type}); }

std::vector<std::vector<double>> all_outputs(const GoldenTry& call) {
  const auto outs = call.run();
  EXPECT_TRUE(outs.has_value()) << (outs ? "" : outs.error().message);
  std::vector<std::vector<double>> values;
  if (outs)
    for (const Expected& each : *outs) values.push_back(written(each));
  return values;
}

// The mean of the squares of (1, 7) is 25: the root is 5, but for epsilon.
OperandPtr row(DType dtype) { return tensor_of(dtype, {1, 2}, {1, 7}); }
OperandPtr gamma(DType dtype) { return tensor_of(dtype, {2}, {2, 0.5}); }

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const auto y = all_outputs(rms_try(1, {row(DType::f64), gamma(DType::f64)}, {param_of("epsilon", {11.0})}));
  ASSERT_EQ(y.size(), 1U);
  EXPECT_THAT(y[0], Pointwise(DoubleNear(1e-12), {2 / 6.0, 3.5 / 6.0}));
  EXPECT_THAT(all_outputs(rms_try(1, {row(DType::bf16), gamma(DType::bf16)}))[0],
              ElementsAre(0.400390625, 0.69921875));
  const auto wide = all_outputs(rms_try(1, {row(DType::f64), tensor_of(DType::f64, {1, 2}, {2, 0.5})}));
  EXPECT_THAT(wide[0], Pointwise(DoubleNear(1e-6), {0.4, 0.7}));
}

TEST(RmsNorm, KnowsGemmaAndTheModeOfHalves) {
  EXPECT_THAT(all_outputs(rms_try(1, {row(DType::f64), gamma(DType::f64)}, {flag("modelType")}))[0],
              Pointwise(DoubleNear(1e-6), {0.6, 2.1}));
  // 1 / 5 is 0.199951171875 in f16, times 2; 7 / 5 is 1.400390625, times a half.
  EXPECT_THAT(all_outputs(rms_try(1, {row(DType::f16), gamma(DType::f16)}, {flag("precisionMode")}))[0],
              ElementsAre(0.39990234375, 0.7001953125));
  EXPECT_THAT(
      error_of(rms_try(1, {row(DType::f32), gamma(DType::f32)}, {flag("precisionMode")}).run()).message,
      HasSubstr("precisionMode 1 is for f16"));
}

TEST(RmsNorm, GivesTheInverseRoot) {
  const OperandPtr x = tensor_of(DType::f16, {1, 2, 2}, {1, 7, 1, 7});
  const auto outs = rms_try(1, {x, tensor_of(DType::f16, {2, 2}, {1, 1, 2, 2})}, {flag("rstd")}).run();
  ASSERT_TRUE(outs.has_value());
  ASSERT_EQ(outs->size(), 2U);
  EXPECT_EQ(outs->at(0).dtype, DType::f16);
  EXPECT_THAT(written(outs->at(0)), Pointwise(DoubleNear(1e-3), {0.2, 1.4, 0.4, 2.8}));
  EXPECT_EQ(outs->at(1).dtype, DType::f32);
  EXPECT_EQ(outs->at(1).value->meta.shape, (Shape{{1, 1, 1}}));
  EXPECT_THAT(written(outs->at(1)), ElementsAre(DoubleNear(0.2, 1e-6)));
  EXPECT_THAT(error_of(rms_try(1, {x, tensor_of(DType::f16, {3}, {1, 1, 2})}, {flag("rstd")}).run()).message,
              HasSubstr("gamma of shape [3] does not fit"));
}

// (0.4 + 0.1) / 0.125 + 3 = 7; (0.7 - 0.2) / 0.125 + 3 = 7
TEST(RmsNorm, QuantisesByAScale) {
  const OperandPtr beta = tensor_of(DType::f32, {2}, {0.1, -0.2}),
                   scale = tensor_of(DType::f32, {1}, {0.125});
  const OperandPtr offset = tensor_of(DType::i8, {1}, {3}), none = tensor_of(DType::f32, {0}, {});
  const OperandPtr x = row(DType::f32), g = gamma(DType::f32);
  EXPECT_THAT(all_outputs(rms_try(1, {x, g, beta, scale, offset}, {quant_type(2)}))[0], ElementsAre(7, 7));
  EXPECT_THAT(all_outputs(rms_try(1, {x, g, none, scale, offset}, {quant_type(2)}))[0], ElementsAre(6, 9));
  const auto pre = all_outputs(rms_try(2,
                                       {tensor_of(DType::f32, {1, 2}, {0.5, 3}),
                                        tensor_of(DType::f32, {1, 2}, {0.5, 4}), g, beta, scale, offset},
                                       {quant_type(2)}));
  ASSERT_EQ(pre.size(), 2U);
  EXPECT_THAT(pre[0], ElementsAre(7, 7));
  EXPECT_THAT(pre[1], ElementsAre(1, 7));
  const auto post = all_outputs(rms_try(
      3, {tensor_of(DType::f32, {1, 2}, {0.5, 3}), tensor_of(DType::f32, {1, 2}, {0.5, 4}), g, scale, offset},
      {quant_type(2)}));
  ASSERT_EQ(post.size(), 2U);
  EXPECT_THAT(post[0], ElementsAre(6, 9));
  EXPECT_THAT(post[1], Pointwise(DoubleNear(1e-6), {0.4, 0.7}));
}

TEST(RmsNorm, QuantisesEachRow) {
  const OperandPtr beta = tensor_of(DType::f32, {2}, {0, 0});
  const auto same = all_outputs(rms_try(1, {row(DType::f32), gamma(DType::f32), beta},
                                        {quant_type(2), param_of("dynamicQuantType", {int64_t{1}})}));
  ASSERT_EQ(same.size(), 2U);
  EXPECT_THAT(same[0], ElementsAre(73, 127));  // 0.4 / 0.7 · 127 = 72.57
  EXPECT_THAT(same[1], ElementsAre(DoubleNear(0.7 / 127, 1e-8)));
  const auto moved = all_outputs(rms_try(1, {row(DType::f32), gamma(DType::f32), beta},
                                         {quant_type(2), param_of("dynamicQuantType", {int64_t{2}})}));
  ASSERT_EQ(moved.size(), 3U);
  EXPECT_THAT(moved[1], ElementsAre(DoubleNear(0.3 / 255, 1e-8)));
  EXPECT_THAT(moved[2], ElementsAre(DoubleNear(-1.1 / (0.6 / 255), 1e-2)));
}

TEST(RmsNorm, AddsResidualAndBiasFirst) {
  const OperandPtr a = tensor_of(DType::f16, {1, 2}, {0.5, 3}), b = tensor_of(DType::f16, {1, 2}, {0.25, 3});
  const OperandPtr bias = tensor_of(DType::f16, {2}, {0.25, 1});
  const auto pre = all_outputs(rms_try(2, {a, b, bias, gamma(DType::f16)}, {flag("hasBias")}));
  ASSERT_EQ(pre.size(), 2U);
  EXPECT_THAT(pre[0], Pointwise(DoubleNear(4e-4), {0.4, 0.7}));
  EXPECT_THAT(pre[1], ElementsAre(1, 7));
  EXPECT_EQ(all_outputs(rms_try(3, {a, b, bias, gamma(DType::f16)}, {flag("hasBias")})).size(), 1U);
  EXPECT_THAT(all_outputs(rms_try(3, {a, b, gamma(DType::f16)}))[0].size(), 2U);
}

// 2049 is 2048 in f16. Each of the two ways has a bound of f32.
TEST(RmsNorm, HasAWayOfItsOwnForASumThatWasRounded) {
  const OperandPtr a = tensor_of(DType::f16, {1, 2}, {0.5, 2048}),
                   b = tensor_of(DType::f16, {1, 2}, {0.5, 1});
  const auto of_sum = rms_try(3, {a, b, gamma(DType::f16)}).run();
  ASSERT_TRUE(of_sum.has_value());
  const Expected& exact = of_sum->at(0);
  ASSERT_EQ(exact.other_ways.size(), 1U);
  const auto rounded = exact.other_ways[0]();
  ASSERT_TRUE(rounded.has_value());
  const auto first_of = [](const Expected& out) { return numbers_of(*out.value, 1 << 20)->values[0]; };
  EXPECT_NEAR(first_of(*rounded) / first_of(exact), 2049.0 / 2048, 1e-6);
  EXPECT_LT(allowed_of(exact)[0], 1e-6);
  EXPECT_LT(allowed_of(*rounded)[0], 1e-6);
}

TEST(RmsNorm, FollowsNaNAndZero) {
  const auto y =
      all_outputs(rms_try(1, {tensor_of(DType::f32, {2, 2}, {0, 0, std::nan(""), 1}), gamma(DType::f32)}));
  EXPECT_EQ(y[0][0], 0);
  EXPECT_EQ(y[0][1], 0);
  EXPECT_TRUE(std::isnan(y[0][2]) && std::isnan(y[0][3]));
  const auto none = rms_try(1, {tensor_of(DType::f16, {0, 2}, {}), gamma(DType::f16)}).run();
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->at(0).value->meta.shape, (Shape{{0, 2}}));
}

TEST(RmsNorm, RefusesWhatDoesNotFit) {
  const OperandPtr x = row(DType::f16), g = gamma(DType::f16);
  const auto message = [](const GoldenTry& call) { return error_of(call.run()).message; };
  EXPECT_THAT(message({"RmsNormOperation", {}, {x, g}}), HasSubstr("layerType is missing"));
  EXPECT_THAT(message({"RmsNormOperation", {param_of("layerType", {int64_t{4}})}, {x, g}}),
              HasSubstr("layerType is 4"));
  EXPECT_THAT(message(rms_try(1, {x, g}, {quant_type(1)})), HasSubstr("quantType is 1"));
  EXPECT_THAT(message(rms_try(1, {x, g}, {quant_type(2)})), HasSubstr("takes 5 inputs, the dump has 2"));
  EXPECT_THAT(message(rms_try(1, {x, g}, {flag("rstd"), flag("modelType")})),
              HasSubstr("exclude each other"));
  EXPECT_THAT(message(rms_try(1, {x, g, g, g, g}, {quant_type(2), flag("modelType")})), HasSubstr("exclude"));
  EXPECT_THAT(message(rms_try(2, {x, x, g, g, g, g}, {quant_type(2), flag("hasBias")})),
              HasSubstr("exclude"));
  EXPECT_THAT(message(rms_try(1, {x, tensor_of(DType::f16, {3}, {1, 2, 3})})),
              HasSubstr("2 elements are wanted"));
  EXPECT_THAT(message(rms_try(2, {x, tensor_of(DType::f16, {3}, {1, 2, 3}), g})), HasSubstr("do not fit"));
  EXPECT_THAT(message(rms_try(2, {x, row(DType::f32), g})), HasSubstr("are f16 and f32"));
  EXPECT_THAT(message(rms_try(1, {tensor_of(DType::i8, {2}, {1, 1}), g})), HasSubstr("floating point"));
  EXPECT_THAT(message(rms_try(1, {tensor_of(DType::f16, {}, {1}), g})), HasSubstr("scalar"));
}

// The derivative of sum(dy · rms norm), by differences.
TEST(RmsNormBackward, IsTheDerivative) {
  const std::vector<double> x = {0.5, -1.25, 2}, g = {1.5, 0.5, 2}, dy = {1, -2, 0.5};
  const auto loss = [&](const std::vector<double>& at, const std::vector<double>& weight) {
    const double root = std::sqrt((at[0] * at[0] + at[1] * at[1] + at[2] * at[2]) / 3);
    return (dy[0] * at[0] * weight[0] + dy[1] * at[1] * weight[1] + dy[2] * at[2] * weight[2]) / root;
  };
  const double inverse = 1 / std::sqrt((0.25 + 1.5625 + 4) / 3), h = 1e-6;
  std::vector<double> dx, dgamma;
  for (size_t i = 0; i < 3; ++i) {
    auto up = x, down = x, heavier = g, lighter = g;
    up[i] += h, down[i] -= h, heavier[i] += h, lighter[i] -= h;
    dx.push_back((loss(up, g) - loss(down, g)) / (2 * h));
    dgamma.push_back((loss(x, heavier) - loss(x, lighter)) / (2 * h));
  }
  const GoldenTry call{"RmsNormBackwardOperation",
                       {},
                       {tensor_of(DType::f64, {1, 3}, dy), tensor_of(DType::f64, {1, 3}, x),
                        tensor_of(DType::f64, {1, 1}, {inverse}), tensor_of(DType::f64, {3}, g)}};
  const auto y = all_outputs(call);
  ASSERT_EQ(y.size(), 2U);
  EXPECT_THAT(y[0], Pointwise(DoubleNear(1e-7), dx));
  EXPECT_THAT(y[1], Pointwise(DoubleNear(1e-6), dgamma));
  GoldenTry wrong = call;
  wrong.in[2] = tensor_of(DType::f64, {2}, {1, 1});
  EXPECT_THAT(error_of(wrong.run()).message, HasSubstr("do not fit"));
}

// x r below the normal numbers of f16 is rounded by up to half of its smallest step, 2^-25, which 2^-11 of it
// is not.
TEST(RmsNormBackward, AllowsWhatRoundingMakesOfTheSmallestNumbers) {
  const double x = 0x1p-20, inverse = 1.3;
  const GoldenTry call{"RmsNormBackwardOperation",
                       {},
                       {tensor_of(DType::f16, {1, 1}, {1}), tensor_of(DType::f16, {1, 1}, {x}),
                        tensor_of(DType::f32, {1, 1}, {inverse}), tensor_of(DType::f16, {1}, {1})}};
  const auto outputs = call.run();
  ASSERT_TRUE(outputs.has_value());
  const double allowed = allowed_of(outputs->at(1))[0];
  const double rounded = 21 * 0x1p-24;  // 20.8 smallest steps
  EXPECT_GT(allowed, std::abs(rounded - x * static_cast<double>(static_cast<float>(inverse))));
  EXPECT_LT(allowed, 8 * 0x1p-25);
}

}  // namespace
}  // namespace assay
