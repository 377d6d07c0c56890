#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

GoldenTry softmax_try(OperandPtr x, std::vector<Value> axes) {
  return {"SoftmaxOperation", {param_of("axes", std::move(axes))}, {std::move(x)}};
}

// exp(ln 2) : exp(ln 3) : exp(0) = 2 : 3 : 1
const std::vector<double> kLogs = {std::log(2.0), std::log(3.0), 0, 0, 0, std::log(4.0)};

TEST(Softmax, WorksOverAnyDimension) {
  const OperandPtr x = tensor_of(DType::f64, {2, 3}, kLogs);
  const auto last = softmax_try(x, {int64_t{-1}}).run();
  ASSERT_TRUE(last.has_value());
  EXPECT_THAT(written(last->at(0)),
              Pointwise(DoubleNear(1e-12), {1 / 3.0, 0.5, 1 / 6.0, 1 / 6.0, 1 / 6.0, 2 / 3.0}));
  const auto first = softmax_try(x, {int64_t{0}}).run();
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(written(first->at(0)), Pointwise(DoubleNear(1e-12), {2 / 3.0, 0.75, 0.2, 1 / 3.0, 0.25, 0.8}));
}

TEST(Softmax, TakesSeveralDimensionsTogether) {
  const OperandPtr x = tensor_of(DType::f64, {2, 3}, kLogs);
  const auto all = softmax_try(x, {int64_t{0}, int64_t{1}}).run();
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT(written(all->at(0)),
              Pointwise(DoubleNear(1e-12), {2 / 12.0, 3 / 12.0, 1 / 12.0, 1 / 12.0, 1 / 12.0, 4 / 12.0}));
  const auto tail = softmax_try(tensor_of(DType::f64, {2, 3, 1}, kLogs), {int64_t{1}, int64_t{2}}).run();
  ASSERT_TRUE(tail.has_value());
  EXPECT_THAT(written(tail->at(0))[1], DoubleNear(0.5, 1e-12));
  const OperandPtr cube = tensor_of(DType::f16, {1, 2, 3}, kLogs);
  EXPECT_THAT(error_of(softmax_try(cube, {int64_t{0}, int64_t{2}}).run()).message,
              HasSubstr("do not follow one another"));
}

TEST(Softmax, FollowsMasksAndInfinity) {
  const auto masked = softmax_try(tensor_of(DType::f16, {1, 3}, {0, -HUGE_VAL, 0}), {int64_t{-1}}).run();
  ASSERT_TRUE(masked.has_value());
  EXPECT_THAT(written(masked->at(0)), ElementsAre(0.5, 0, 0.5));
  for (const double all : {-HUGE_VAL, HUGE_VAL}) {
    const auto out = softmax_try(tensor_of(DType::f32, {2}, {all, all}), {int64_t{0}}).run();
    ASSERT_TRUE(out.has_value());
    for (const double each : written(out->at(0))) EXPECT_TRUE(std::isnan(each));
  }
}

TEST(Softmax, RefusesWhatDoesNotFit) {
  const OperandPtr x = tensor_of(DType::f16, {1, 3}, {0, 1, 2});
  EXPECT_THAT(error_of(GoldenTry{"SoftmaxOperation", {}, {x}}.run()).message, HasSubstr("axes is missing"));
  EXPECT_THAT(error_of(softmax_try(x, {int64_t{2}}).run()).message, HasSubstr("axes 2 is no dimension"));
  EXPECT_THAT(error_of(softmax_try(tensor_of(DType::i8, {1}, {1}), {int64_t{0}}).run()).message,
              HasSubstr("floating point"));
  const auto empty = softmax_try(tensor_of(DType::f16, {0, 3}, {}), {int64_t{-1}}).run();
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(empty->at(0).value->meta.shape, (Shape{{0, 3}}));
}

GoldenTry squares_try(std::string type, int64_t heads, std::vector<Value> lengths,
                      std::vector<OperandPtr> in) {
  OpParam list{"qSeqLen", std::move(lengths), true};
  return {std::move(type), {param_of("headNum", {heads}), std::move(list)}, std::move(in)};
}

// Two samples: one of length 1, one of length 2 with rows 2 : 1 and 1 : 3.
TEST(FastSoftMax, WorksOnSamplesOfSeveralLengths) {
  const OperandPtr x = tensor_of(DType::f64, {5}, {7, std::log(2.0), 0, 0, std::log(3.0)});
  const auto out = squares_try("FastSoftMaxOperation", 1, {int64_t{1}, int64_t{2}}, {x}).run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(written(out->at(0)), Pointwise(DoubleNear(1e-12), {1.0, 2 / 3.0, 1 / 3.0, 0.25, 0.75}));
}

// y = (0.25, 0.75), dy = (1, 2): the sum is 1.75.
TEST(FastSoftMaxGrad, IsTheGradient) {
  const OperandPtr y = tensor_of(DType::f64, {4}, {0.25, 0.75, 1, 0}),
                   dy = tensor_of(DType::f64, {4}, {1, 2, 3, 9});
  const auto out = squares_try("FastSoftMaxGradOperation", 1, {int64_t{2}}, {y, dy}).run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(written(out->at(0)), Pointwise(DoubleNear(1e-12), {-0.1875, 0.1875, 0.0, 0.0}));
}

TEST(FastSoftMax, RefusesLengthsThatDoNotFit) {
  const OperandPtr x = tensor_of(DType::f16, {4}, {1, 2, 3, 4});
  const auto message = [&](int64_t heads, std::vector<Value> lengths) {
    return error_of(squares_try("FastSoftMaxOperation", heads, std::move(lengths), {x}).run()).message;
  };
  EXPECT_THAT(message(1, {int64_t{3}}), HasSubstr("do not fit"));
  EXPECT_THAT(message(1, {int64_t{1}}), HasSubstr("tell of 1 elements"));
  EXPECT_THAT(message(1, {int64_t{-2}}), HasSubstr("do not fit"));
  EXPECT_THAT(message(int64_t{1} << 40, {int64_t{1} << 40}), HasSubstr("do not fit"));
  EXPECT_THAT(error_of(GoldenTry{"FastSoftMaxOperation", {}, {x}}.run()).message,
              HasSubstr("headNum is missing"));
  EXPECT_THAT(
      error_of(squares_try("FastSoftMaxGradOperation", 1, {int64_t{2}}, {x, tensor_of(DType::f16, {1}, {1})})
                   .run())
          .message,
      HasSubstr("[4] and [1]"));
}

}  // namespace
}  // namespace assay
