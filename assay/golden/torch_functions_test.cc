// Functions of torch by the names and places of their arguments; what they give by hand.
#include "assay/golden/torch_functions.h"
#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

TorchArgument at(int place, OperandPtr tensor) { return {.place = place, .tensor = std::move(tensor)}; }
TorchArgument at(int place, Scalar value) { return {.place = place, .value = value}; }
TorchArgument named(std::string_view name, Scalar value) { return {.name = name, .value = value}; }

Result<GoldenOutputs> run(std::string function, std::vector<TorchArgument> arguments,
                          DType dtype = DType::f32) {
  TorchCall call{std::move(function), std::move(arguments), {TensorMeta{dtype, Shape{{1}}}}};
  return torch_golden(call);
}

std::vector<double> given_by(const Result<GoldenOutputs>& outputs) {
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  return outputs ? written(outputs->at(0)) : std::vector<double>();
}

OperandPtr f32(std::vector<int64_t> dims, const std::vector<double>& values) {
  return tensor_of(DType::f32, std::move(dims), values);
}

TEST(TorchFunctions, LinearHasItsWeightByRows) {
  const auto x = f32({1, 2}, {1, 2}), weight = f32({3, 2}, {1, 0, 0, 1, 1, 1}), bias = f32({3}, {10, 20, 30});
  EXPECT_THAT(given_by(run("linear", {at(0, x), at(1, weight)})), ElementsAre(1, 2, 3));
  EXPECT_THAT(given_by(run("linear", {at(0, x), at(1, weight), at(2, bias)})), ElementsAre(11, 22, 33));
  TorchArgument none{.name = "bias", .is_nothing = true};
  EXPECT_THAT(given_by(run("linear", {at(0, x), at(1, weight), none})), ElementsAre(1, 2, 3));
}

TEST(TorchFunctions, ProductsOfAsManyMatrices) {
  const auto a = f32({1, 2, 1, 2}, {1, 2, 3, 4}), b = f32({1, 2, 2, 1}, {5, 6, 7, 8});
  EXPECT_THAT(given_by(run("matmul", {at(0, a), at(1, b)})), ElementsAre(17, 53));
  const auto bias = f32({1}, {100});
  EXPECT_THAT(given_by(run("addmm", {at(0, bias), at(1, f32({1, 2}, {1, 2})), at(2, f32({2, 1}, {3, 4}))})),
              ElementsAre(111));
}

// Autocast rounds what a product is given to the type of its result.
TEST(TorchFunctions, OperandsAreOfTheTypeOfTheResult) {
  const double fine = 1 + 0x1p-10;  // 1 in bf16
  const auto x = f32({1, 1}, {fine}), weight = f32({1, 1}, {256});
  EXPECT_THAT(given_by(run("linear", {at(0, x), at(1, weight)}, DType::bf16)), ElementsAre(256));
  EXPECT_THAT(given_by(run("linear", {at(0, x), at(1, weight)})), ElementsAre(256.25));
}

TEST(TorchFunctions, NumbersBesideTensors) {
  const auto x = f32({2}, {1, 3});
  EXPECT_THAT(given_by(run("add", {at(0, x), at(1, Scalar(2.0))})), ElementsAre(3, 5));
  EXPECT_THAT(given_by(run("mul", {at(0, x), at(1, Scalar(2.0))})), ElementsAre(2, 6));
  EXPECT_THAT(given_by(run("truediv", {at(0, x), at(1, Scalar(int64_t{2}))})), ElementsAre(0.5, 1.5));
  EXPECT_THAT(given_by(run("pow", {at(0, x), at(1, Scalar(int64_t{2}))})), ElementsAre(1, 9));
  EXPECT_THAT(given_by(run("sub", {at(0, x), at(1, f32({}, {1}))})), ElementsAre(0, 2));
  // bf16 has no 1e-5, and torch does not round it.
  const auto short_x = tensor_of(DType::bf16, {1}, {1});
  EXPECT_EQ(error_of(run("add", {at(0, short_x), at(1, Scalar(1e-5))}, DType::bf16)).kind,
            ErrorKind::unsupported);
}

TEST(TorchFunctions, WhatAnArgumentDoesIsKnown) {
  const auto x = f32({2}, {1, 3});
  EXPECT_THAT(error_of(run("div", {at(0, x), at(1, x), named("rounding_mode", "floor")})).message,
              HasSubstr("what div does with its argument rounding_mode is not known"));
  EXPECT_EQ(error_of(run("add", {at(0, x), at(1, x), named("alpha", Scalar(2.0))})).kind,
            ErrorKind::unsupported);
  EXPECT_EQ(error_of(run("pow", {at(0, x), at(1, Scalar(0.5))})).kind, ErrorKind::unsupported);
  EXPECT_EQ(error_of(run("relu", {at(0, x), named("inplace", true)})).kind, ErrorKind::unsupported);
  EXPECT_EQ(error_of(run("linear", {at(0, x)})).kind, ErrorKind::not_found);
  EXPECT_EQ(error_of(run("softmax", {at(0, x)})).kind, ErrorKind::unsupported);
  EXPECT_EQ(error_of(run("add", {at(0, x), at(1, x)}, DType::i64)).kind, ErrorKind::unsupported);
  EXPECT_FALSE(has_torch_golden("dropout"));
}

TEST(TorchFunctions, NormsAndSoftmax) {
  const auto x = f32({1, 2}, {3, 1});
  const auto norm = given_by(
      run("layer_norm", {at(0, x), TorchArgument{.place = 1, .part = 0, .value = int64_t{2}},
                         at(2, f32({2}, {2, 2})), at(3, f32({2}, {0, 5})), named("eps", Scalar(0.0))}));
  EXPECT_THAT(norm, Pointwise(DoubleNear(1e-6), {2.0, 3.0}));
  // 1 / sqrt(5 + 20) = 0.2
  EXPECT_THAT(given_by(run("npu_rms_norm", {at(0, x), at(1, f32({2}, {1, 10})), at(2, Scalar(20.0))})),
              Pointwise(DoubleNear(1e-6), {0.6, 2.0}));
  EXPECT_THAT(given_by(run("softmax", {at(0, f32({1, 2}, {0, std::log(3.0)})), named("dim", int64_t{-1})})),
              Pointwise(DoubleNear(1e-6), {0.25, 0.75}));
}

TEST(TorchFunctions, RowsOfATable) {
  const auto table = f32({3, 1}, {10, 20, 30}), ids = tensor_of(DType::i64, {2}, {2, 0});
  EXPECT_THAT(given_by(run("embedding", {at(0, ids), at(1, table)})), ElementsAre(30, 10));
  EXPECT_THAT(given_by(run("embedding", {at(0, table), at(1, ids)})), ElementsAre(30, 10));  // as aten has it
}

// Two queries of one head, scores 0 and log 3 (at a scale of 1), a causal mask hides the second key from the
// first query.
TEST(TorchFunctions, Attention) {
  const double log3 = std::log(3.0);
  const auto q = f32({1, 1, 2, 1}, {1, 1}), k = f32({1, 1, 2, 1}, {0, log3}), v = f32({1, 1, 2, 1}, {4, 8});
  const auto scale = named("scale", Scalar(1.0));
  EXPECT_THAT(given_by(run("scaled_dot_product_attention", {at(0, q), at(1, k), at(2, v), scale})),
              Pointwise(DoubleNear(1e-5), {7.0, 7.0}));
  EXPECT_THAT(given_by(run("scaled_dot_product_attention",
                           {at(0, q), at(1, k), at(2, v), scale, named("is_causal", true)})),
              Pointwise(DoubleNear(1e-5), {4.0, 7.0}));
  const auto mask = f32({2, 2}, {0, log3, 0, -1e9});
  EXPECT_THAT(
      given_by(run("scaled_dot_product_attention", {at(0, q), at(1, k), at(2, v), at(3, mask), scale})),
      Pointwise(DoubleNear(1e-5), {7.6, 4.0}));
}

}  // namespace
}  // namespace assay
