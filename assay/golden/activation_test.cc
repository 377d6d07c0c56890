#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

GoldenTry activation_try(int64_t type, std::vector<OperandPtr> in, std::vector<OpParam> more = {}) {
  more.push_back(param_of("activationType", {type}));
  return {"ActivationOperation", std::move(more), std::move(in)};
}

// What the operator gives for these numbers in f64: hardly rounded.
std::vector<double> activated(int64_t type, const std::vector<double>& x, std::vector<OpParam> more = {}) {
  const auto out = activation_try(type, {tensor_of(DType::f64, {std::ssize(x)}, x)}, std::move(more)).run();
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().message);
  return out ? written(out->at(0)) : std::vector<double>();
}

TEST(Activation, KnowsEachTypeByAHandfulOfValues) {
  const std::vector<double> x = {-2, 0, 1};
  EXPECT_THAT(activated(1, x), ElementsAre(0, 0, 1));
  // 0.5 x (1 + tanh(0.7978845608 (x + 0.044715 x³))), to ten digits by a pocket calculator.
  EXPECT_THAT(activated(2, x), Pointwise(DoubleNear(1e-9), {-0.0454023059, 0.0, 0.8411919906}));
  EXPECT_THAT(activated(2, x, {param_of("geluMode", {int64_t{1}})}),
              Pointwise(DoubleNear(1e-9), {-0.0455002639, 0.0, 0.8413447461}));
  // x / (1 + exp(-1.702 x)) both ways.
  EXPECT_THAT(activated(3, x), Pointwise(DoubleNear(1e-9), {-0.0643413769, 0.0, 0.8457957659}));
  EXPECT_THAT(activated(9, x), Pointwise(DoubleNear(1e-9), {-0.0643413769, 0.0, 0.8457957659}));
  EXPECT_THAT(activated(4, x), Pointwise(DoubleNear(1e-9), {-0.2384058440, 0.0, 0.7310585786}));
  EXPECT_THAT(activated(4, x, {param_of("scale", {2.0})}),
              Pointwise(DoubleNear(1e-9), {-0.0359724199, 0.0, 0.8807970780}));
  EXPECT_THAT(activated(5, {1, std::exp(2.0), 0}), Pointwise(DoubleNear(1e-12), {0.0, 2.0, -HUGE_VAL}));
  EXPECT_THAT(activated(8, x), Pointwise(DoubleNear(1e-9), {0.1192029220, 0.5, 0.7310585786}));
}

TEST(Activation, WritesTheTypeOfTheInput) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const int64_t type : {1, 2, 3, 4, 5, 8, 9}) {
      const auto out = activation_try(type, {tensor_of(dtype, {2}, {0.5, 2})}).run();
      ASSERT_TRUE(out.has_value());
      EXPECT_EQ(out->at(0).dtype, dtype);
    }
}

TEST(Activation, FollowsNaNAndInfinity) {
  EXPECT_THAT(activated(1, {-HUGE_VAL, HUGE_VAL}), ElementsAre(0, HUGE_VAL));
  EXPECT_TRUE(std::isnan(activated(1, {std::nan("")})[0]));
  EXPECT_TRUE(std::isnan(activated(5, {-1})[0]));
  EXPECT_THAT(activated(8, {-HUGE_VAL, HUGE_VAL}), ElementsAre(0, 1));
  EXPECT_EQ(activated(4, {HUGE_VAL})[0], HUGE_VAL);
  EXPECT_EQ(activated(2, {HUGE_VAL})[0], HUGE_VAL);
  EXPECT_TRUE(std::isnan(activated(2, {-HUGE_VAL})[0]));  // infinity times zero, as the formula says
}

TEST(Activation, AllowsNoMoreThanAFewRoundings) {
  const auto out = activation_try(2, {tensor_of(DType::f16, {3}, {-2, 0.5, 3})}).run();
  ASSERT_TRUE(out.has_value());
  for (const double each : allowed_of(out->at(0))) EXPECT_LT(each, 3 * 20 * std::ldexp(1.0, -24));
  const auto exact = activation_try(1, {tensor_of(DType::f16, {3}, {-2, 0.5, 3})}).run();
  EXPECT_FALSE(exact->at(0).rounds());
  EXPECT_THAT(allowed_of(exact->at(0)), ElementsAre());
}

// silu(1) = 0.7310585786, silu(-2) = -0.2384058440
TEST(Activation, SwigluTakesHalvesOfAnyDimension) {
  const auto last = activation_try(6, {tensor_of(DType::f64, {2, 4}, {1, -2, 3, 10, -2, 1, 1, 2})}).run();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->at(0).value->meta.shape, (Shape{{2, 2}}));
  EXPECT_THAT(written(last->at(0)),
              Pointwise(DoubleNear(1e-8), {2.1931757358, -2.3840584404, -0.2384058440, 1.4621171573}));
  const auto first = activation_try(6, {tensor_of(DType::f64, {4, 2}, {1, -2, -2, 1, 3, 10, 1, 2})},
                                    {param_of("dim", {int64_t{0}})})
                         .run();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->at(0).value->meta.shape, (Shape{{2, 2}}));
  EXPECT_THAT(written(first->at(0)),
              Pointwise(DoubleNear(1e-8), {2.1931757358, -2.3840584404, -0.2384058440, 1.4621171573}));
}

TEST(Activation, SwigluBackwardIsTheDerivative) {
  const double a = 0.7, b = -1.3, dy = 0.9, h = 1e-6;
  const auto swiglu = [](double x, double y) { return x / (1 + std::exp(-x)) * y; };
  const auto out =
      activation_try(7, {tensor_of(DType::f64, {1, 1}, {dy}), tensor_of(DType::f64, {1, 2}, {a, b})}).run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(written(out->at(0)),
              Pointwise(DoubleNear(1e-8), {dy * (swiglu(a + h, b) - swiglu(a - h, b)) / (2 * h),
                                           dy * (swiglu(a, b + h) - swiglu(a, b - h)) / (2 * h)}));
}

TEST(Activation, RefusesWhatDoesNotFit) {
  const OperandPtr x = tensor_of(DType::f16, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error_of(GoldenTry{"ActivationOperation", {}, {x}}.run()).message,
              HasSubstr("activationType is missing"));
  EXPECT_THAT(error_of(activation_try(0, {x}).run()).message, HasSubstr("none of 1, 2"));
  EXPECT_THAT(error_of(activation_try(10, {x}).run()).message, HasSubstr("none of 1, 2"));
  EXPECT_THAT(error_of(activation_try(2, {x}, {param_of("geluMode", {int64_t{2}})}).run()).message,
              HasSubstr("geluMode is 2"));
  EXPECT_THAT(error_of(activation_try(2, {x, x}).run()).message, HasSubstr("takes 1 inputs, the dump has 2"));
  EXPECT_THAT(error_of(activation_try(6, {x}).run()).message, HasSubstr("no halves"));
  EXPECT_THAT(error_of(activation_try(6, {x}, {param_of("dim", {int64_t{2}})}).run()).message,
              HasSubstr("dim 2 is no dimension"));
  EXPECT_THAT(error_of(activation_try(7, {x, x}, {param_of("dim", {int64_t{0}})}).run()).message,
              HasSubstr("half of the input [1, 3]"));
  EXPECT_THAT(error_of(activation_try(1, {tensor_of(DType::i8, {1}, {1})}).run()).message,
              HasSubstr("i8 where floating point is wanted"));
}

TEST(Activation, KeepsEmptyTensorsEmpty) {
  for (const int64_t type : {1, 2, 3, 4, 5, 6, 8, 9}) {
    const auto out = activation_try(type, {tensor_of(DType::f16, {0, 4}, {})}).run();
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(out->at(0).value->meta.shape.count(), 0);
  }
}

TEST(SwigluQuant, ScalesEachRow) {
  // silu(1) · (3, 1): the larger fills the range.
  const GoldenTry call{"SwigluQuantOperation", {}, {tensor_of(DType::f16, {1, 4}, {1, 1, 3, 1})}};
  const auto out = call.run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(written(out->at(0)), ElementsAre(127, 42));
  EXPECT_THAT(written(out->at(1)), ElementsAre(DoubleNear(0.7310585786 * 3 / 127, 1e-8)));
  EXPECT_EQ(out->at(1).dtype, DType::f32);
  GoldenTry other = call;
  other.params = {param_of("quantType", {int64_t{1}})};
  EXPECT_THAT(error_of(other.run()).message, HasSubstr("quantType is 1"));
}

}  // namespace
}  // namespace assay
