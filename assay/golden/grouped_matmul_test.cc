#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> product_of(const GoldenTry& call, const Shape& shape) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  if (!outputs) return {};
  EXPECT_EQ((*outputs)[0].value->meta.shape, shape);
  return written((*outputs)[0]);
}

// x [1 2 3] in groups of 1, 0 and 2 terms, a weight of two columns, a sum for each group.
GoldenTry grouped_sum() {
  return {"GroupedMatmulInplaceAddOperation",
          {param_of("transposeA", {false}), param_of("transposeB", {false})},
          {tensor_of(DType::f16, {1, 3}, {1, 2, 3}), tensor_of(DType::f16, {3, 2}, {1, 2, 3, 4, 5, 6}),
           tensor_of(DType::i64, {3}, {1, 1, 3}), tensor_of(DType::f32, {3, 2}, {10, 20, 30, 40, 50, 60})}};
}

TEST(GoldenGroupedMatmulInplaceAdd, AddsEachGroupToItsPart) {
  GoldenTry call = grouped_sum();
  // [1] [1 2]; nothing; [2 3] [[3 4] [5 6]]
  EXPECT_THAT(product_of(call, Shape{{3, 2}}), ElementsAre(11, 22, 30, 40, 50 + 21, 60 + 26));
  call.in[0] = tensor_of(DType::f16, {3, 1}, {1, 2, 3});
  call.params[0] = param_of("transposeA", {true});
  EXPECT_THAT(product_of(call, Shape{{3, 2}}), ElementsAre(11, 22, 30, 40, 71, 86));
}

TEST(GoldenGroupedMatmulInplaceAdd, RefusesGroupsThatDoNotFit) {
  GoldenTry call = grouped_sum();
  call.in[2] = tensor_of(DType::i64, {3}, {1, 4, 3});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("a group from 1 to 4 of 3 is none"));
  call.in[2] = tensor_of(DType::i64, {3}, {1, 1, 2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("groups end at 2 where there are 3"));
  call.in[2] = tensor_of(DType::i64, {2}, {1, 3});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("a sum of [3, 2] for 2 groups"));
}

// Two experts, each twice the one before; tokens 1 and 0 go to the first, token 1 to the second.
GoldenTry routed(int64_t type, std::vector<OperandPtr> in) {
  return {"GroupedMatmulWithRoutingOperation",
          {param_of("transposeB", {false}), param_of("topK", {int64_t{type == 1 ? 3 : 2}}),
           param_of("groupedMatmulType", {type}), param_of("outDataType", {int64_t{-1}})},
          std::move(in)};
}

TEST(GoldenGroupedMatmulWithRouting, MultipliesRowsByTheirExperts) {
  const OperandPtr weights = tensor_of(DType::f16, {2, 2, 1}, {1, 10, 2, 20});
  const OperandPtr ends = tensor_of(DType::i32, {2}, {2, 3}), tokens = tensor_of(DType::i32, {3}, {1, 0, 1});
  GoldenTry up = routed(0, {tensor_of(DType::f16, {2, 2}, {1, 2, 3, 4}), weights, ends, tokens});
  EXPECT_THAT(product_of(up, Shape{{3, 1}}), ElementsAre(43, 21, 86));
  up.in[3] = tensor_of(DType::i32, {3}, {1, 0, 2});
  EXPECT_THAT(error_of(up.run()).message, HasSubstr("the index 2 lies outside the 2 of dimension 0"));
  // Three rows of one token: 43 + 21 + 86
  const OperandPtr to_first = tensor_of(DType::i32, {3}, {0, 0, 0});
  const OperandPtr rows = tensor_of(DType::f16, {3, 2}, {3, 4, 1, 2, 3, 4});
  GoldenTry down = routed(1, {rows, weights, ends, to_first});
  EXPECT_THAT(product_of(down, Shape{{1, 1}}), ElementsAre(150));
}

// Below the normal numbers of f16 a partial sum is rounded by up to half of the smallest step, however small
// it is.
TEST(GoldenGroupedMatmulWithRouting, AllowsRoundedPartialSums) {
  const GoldenTry down = routed(1, {tensor_of(DType::f16, {3, 1}, {0x1p-12, 0x1p-12, 0x1p-12}),
                                    tensor_of(DType::f16, {1, 1, 1}, {0x1.8p-13}),
                                    tensor_of(DType::i32, {1}, {3}), tensor_of(DType::i32, {3}, {0, 0, 0})});
  const double term = 0x1.8p-25;  // three quarters of the smallest step: each becomes a whole one
  const auto out = down.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_GT(allowed_of((*out)[0])[0] + 0x1p-25, 3 * (0x1p-24 - term));
  EXPECT_LT(allowed_of((*out)[0])[0], 0x1p-23);
}

TEST(GoldenGroupedMatmulWithRouting, ScalesInt8ByColumnAndRow) {
  GoldenTry call = routed(0, {tensor_of(DType::i8, {1, 2}, {3, 4}), tensor_of(DType::i8, {1, 2, 1}, {1, 10}),
                              tensor_of(DType::i32, {1}, {1}), tensor_of(DType::i32, {1}, {0}),
                              tensor_of(DType::f32, {1, 1}, {0.5}), tensor_of(DType::f32, {1}, {2})});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("outDataType does not say"));
  call.params[3] = param_of("outDataType", {int64_t{1}});
  EXPECT_THAT(product_of(call, Shape{{1, 1}}), ElementsAre(43));
}

}  // namespace
}  // namespace assay
