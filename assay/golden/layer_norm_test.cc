#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

GoldenTry layer_try(int64_t layer, std::vector<OperandPtr> in, std::vector<OpParam> own = {}) {
  const std::string object = layer == 1 ? "normParam." : layer == 2 ? "preNormParam." : "postNormParam.";
  for (OpParam& each : own) each.key = object + each.key;
  own.push_back(param_of("layerType", {layer}));
  return {"LayerNormOperation", std::move(own), std::move(in)};
}

OpParam whole_param(std::string key, int64_t value) { return param_of(std::move(key), {value}); }

std::vector<std::vector<double>> outputs_of(const GoldenTry& call) {
  const auto outs = call.run();
  EXPECT_TRUE(outs.has_value()) << (outs ? "" : outs.error().message);
  std::vector<std::vector<double>> values;
  if (outs)
    for (const Expected& each : *outs) values.push_back(written(each));
  return values;
}

// (1, 3) has the mean 2 and the deviation 1; (4, 8) the mean 6 and the deviation 2.
OperandPtr two_rows(DType dtype) { return tensor_of(dtype, {2, 2}, {1, 3, 4, 8}); }
OperandPtr pair_of(DType dtype, double a, double b) { return tensor_of(dtype, {2}, {a, b}); }

TEST(LayerNorm, NormalisesFromAnAxisOn) {
  const OperandPtr w = pair_of(DType::f64, 2, 3), b = pair_of(DType::f64, 0.5, -1);
  for (const int64_t axis : {1, -1})
    EXPECT_THAT(
        outputs_of(layer_try(1, {two_rows(DType::f64), w, b}, {whole_param("beginNormAxis", axis)}))[0],
        Pointwise(DoubleNear(1e-4), {-1.5, 2.0, -1.5, 2.0}));
  // All four: mean 4, variance (9 + 1 + 0 + 16) / 4 = 6.5.
  const OperandPtr ones = tensor_of(DType::f64, {2, 2}, {1, 1, 1, 1}),
                   zeros = tensor_of(DType::f64, {4}, {0, 0, 0, 0});
  const double root = std::sqrt(6.5);
  EXPECT_THAT(outputs_of(layer_try(1, {two_rows(DType::f64), ones, zeros}))[0],
              Pointwise(DoubleNear(1e-5), {-3 / root, -1 / root, 0.0, 4 / root}));
  EXPECT_THAT(outputs_of(layer_try(1, {two_rows(DType::f64), w, b},
                                   {whole_param("beginNormAxis", 1), param_of("epsilon", {3.0})}))[0],
              Pointwise(DoubleNear(1e-12), {-0.5, 0.5, -4 / std::sqrt(7.0) + 0.5, 6 / std::sqrt(7.0) - 1}));
}

TEST(LayerNorm, TakesMinusOneForUnquantised) {
  const auto y =
      outputs_of(layer_try(1, {two_rows(DType::f16), pair_of(DType::f16, 1, 1), pair_of(DType::f16, 0, 0)},
                           {whole_param("quantType", -1), whole_param("beginNormAxis", 1)}));
  EXPECT_THAT(y[0], Pointwise(DoubleNear(1e-4), {-1.0, 1.0, -1.0, 1.0}));
}

TEST(LayerNorm, AddsAResidual) {
  const OperandPtr x = tensor_of(DType::f16, {1, 2}, {0, 2}), r = tensor_of(DType::f16, {1, 2}, {2, 2});
  const OperandPtr w = tensor_of(DType::f16, {1, 2}, {2, 3}), b = tensor_of(DType::f16, {1, 2}, {0.5, -1});
  const auto pre = outputs_of(layer_try(2, {x, r, w, b}, {param_of("zoomScaleValue", {0.5})}));
  ASSERT_EQ(pre.size(), 2U);
  EXPECT_THAT(pre[0], Pointwise(DoubleNear(2e-3), {-1.5, 2.0}));
  EXPECT_THAT(pre[1], ElementsAre(1, 3));
  const auto post = outputs_of(layer_try(3, {x, r, w, b}, {param_of("zoomScale", {0.5})}));
  ASSERT_EQ(post.size(), 1U);
  EXPECT_THAT(post[0], Pointwise(DoubleNear(2e-3), {-1.5, 2.0}));
}

TEST(LayerNorm, QuantisesByAScale) {
  const OperandPtr w = pair_of(DType::f16, 2, 3), b = pair_of(DType::f16, 0.5, -1);
  const OperandPtr scale = tensor_of(DType::f16, {1}, {12}), offset = tensor_of(DType::i8, {1}, {3});
  const auto norm =
      outputs_of(layer_try(1, {two_rows(DType::f16), w, b, scale, offset}, {whole_param("quantType", 2)}));
  ASSERT_EQ(norm.size(), 1U);
  EXPECT_THAT(norm[0], ElementsAre(-15, 27, -15, 27));  // -1.5 · 12 + 3; 2 · 12 + 3
  const OperandPtr half = tensor_of(DType::f16, {2, 2}, {0.5, 1.5, 2, 4});
  const auto post = layer_try(3, {half, half, w, b, scale, offset},
                              {whole_param("quantType", 2), param_of("zoomScaleValue", {5.0})})
                        .run();
  ASSERT_TRUE(post.has_value());
  ASSERT_EQ(post->size(), 2U);
  EXPECT_EQ(post->at(0).dtype, DType::f16);
  EXPECT_EQ(post->at(1).dtype, DType::i8);
  EXPECT_THAT(written(post->at(1)), ElementsAre(-15, 27, -15, 27));
}

// 34.4998..., or 34.5 where a step before was rounded: 34 in every way, for what is even in the middle stays
// so.
TEST(LayerNorm, LeavesNothingOpenWhereSumsAreExact) {
  const auto outs = layer_try(1,
                              {tensor_of(DType::bf16, {1, 2}, {-1, 1}), pair_of(DType::bf16, 1, 1),
                               pair_of(DType::bf16, 0, 0), tensor_of(DType::bf16, {1}, {24.5}),
                               tensor_of(DType::i8, {1}, {10})},
                              {whole_param("quantType", 2)})
                        .run();
  ASSERT_TRUE(outs.has_value()) << outs.error().message;
  std::vector<Expected> ways = {outs->at(0)};
  for (const auto& other : outs->at(0).other_ways) ways.push_back(other().value());
  EXPECT_EQ(ways.size(), 16U);
  for (const Expected& way : ways) {
    const double value = numbers_of(*way.value, 1000).value().values[1];
    EXPECT_LE(std::abs(value - 34), 0.5 + allowed_of(way)[1]);
    EXPECT_GT(std::abs(value - 35), 0.5 + allowed_of(way)[1]);
  }
}

TEST(LayerNorm, QuantisesEachRow) {
  const OperandPtr w = pair_of(DType::f16, 2, 3), b = pair_of(DType::f16, 0.5, -1);
  const auto same = outputs_of(layer_try(1, {two_rows(DType::f16), w, b},
                                         {whole_param("quantType", 2), whole_param("dynamicQuantType", 1)}));
  ASSERT_EQ(same.size(), 2U);
  EXPECT_THAT(same[0], ElementsAre(-95, 127, -95, 127));  // -1.5 / 2 · 127 = -95.25
  EXPECT_THAT(same[1], Pointwise(DoubleNear(1e-5), {2 / 127.0, 2 / 127.0}));
  EXPECT_EQ(outputs_of(layer_try(1, {two_rows(DType::f16), w, b},
                                 {whole_param("quantType", 2), whole_param("dynamicQuantType", 2)}))
                .size(),
            3U);
}

TEST(LayerNorm, ErrsMoreWhereTheMeanIsLarge) {
  const OperandPtr w = pair_of(DType::f32, 1, 1), b = pair_of(DType::f32, 0, 0);
  const auto allowed = [&](double mean) {
    const OperandPtr x = tensor_of(DType::f32, {1, 2}, {mean - 1, mean + 1});
    return allowed_of(layer_try(1, {x, w, b}, {whole_param("beginNormAxis", 1)}).run()->at(0))[0];
  };
  EXPECT_LT(allowed(0), 2e-6);
  EXPECT_GT(allowed(1000), 100 * allowed(0));
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  const OperandPtr x = two_rows(DType::f16), w = pair_of(DType::f16, 1, 1);
  const auto message = [](const GoldenTry& call) { return error_of(call.run()).message; };
  EXPECT_THAT(message({"LayerNormOperation", {}, {x, w, w}}), HasSubstr("layerType is missing"));
  EXPECT_THAT(message(layer_try(1, {x, w, w})), HasSubstr("4 elements are wanted"));
  EXPECT_THAT(message(layer_try(1, {x, w, w}, {whole_param("beginNormAxis", 2)})),
              HasSubstr("is no dimension"));
  EXPECT_THAT(message(layer_try(1, {x, w})), HasSubstr("takes 3 inputs"));
  EXPECT_THAT(message(layer_try(2, {x, x, w, w, w, w}, {whole_param("quantType", 2)})),
              HasSubstr("no quantised output"));
  EXPECT_THAT(message(layer_try(1, {x, w, w, pair_of(DType::f16, 1, 1), tensor_of(DType::i8, {3}, {1, 1, 1})},
                                {whole_param("quantType", 2)})),
              HasSubstr("the offset of LayerNormOperation has shape [3]"));
  const auto none =
      layer_try(1, {tensor_of(DType::f16, {0, 2}, {}), w, w}, {whole_param("beginNormAxis", 1)}).run();
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->at(0).value->meta.shape, (Shape{{0, 2}}));
}

TEST(CohereLayerNorm, HasAWeightForEachHead) {
  const OperandPtr x = tensor_of(DType::f64, {1, 2, 2}, {1, 3, 4, 8}),
                   w = tensor_of(DType::f64, {2, 2}, {1, 2, 3, 4});
  const GoldenTry call{"CohereLayerNormOperation", {}, {x, w}};
  EXPECT_THAT(outputs_of(call)[0], Pointwise(DoubleNear(1e-4), {-1.0, 2.0, -3.0, 4.0}));
  EXPECT_THAT(
      error_of(GoldenTry{"CohereLayerNormOperation", {}, {x, tensor_of(DType::f64, {3}, {1, 2, 3})}}.run())
          .message,
      HasSubstr("gamma of shape [3] does not fit"));
}

}  // namespace
}  // namespace assay
