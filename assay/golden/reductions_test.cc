#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNan;

std::vector<double> computed(const GoldenTry& call, size_t output = 0) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  return outputs ? written((*outputs)[output]) : std::vector<double>();
}

TEST(GoldenCumsum, AddsUpForwardsAndBackwards) {
  GoldenTry call{
      "CumsumOperation",
      {param_of("axes", {int64_t{1}}), param_of("exclusive", {false}), param_of("reverse", {false})},
      {tensor_of(DType::f32, {2, 3}, {1, 2, 4, 10, 20, 40})}};
  EXPECT_THAT(computed(call), ElementsAre(1, 3, 7, 10, 30, 70));
  call.params[1] = param_of("exclusive", {true});
  EXPECT_THAT(computed(call), ElementsAre(0, 1, 3, 0, 10, 30));
  call.params[2] = param_of("reverse", {true});
  EXPECT_THAT(computed(call), ElementsAre(6, 4, 0, 60, 40, 0));
  call.params[1] = param_of("exclusive", {false});
  EXPECT_THAT(computed(call), ElementsAre(7, 6, 4, 70, 60, 40));
  call.params = {param_of("axes", {int64_t{0}})};
  EXPECT_THAT(computed(call), ElementsAre(1, 2, 4, 11, 22, 44));
  call.in[0] = tensor_of(DType::i8, {2}, {100, 100});  // wraps
  EXPECT_THAT(computed(call), ElementsAre(100, -56));
  call.in[0] = tensor_of(DType::f16, {0, 2}, {});
  EXPECT_THAT(computed(call), IsEmpty());
  call.params[0] = param_of("axes", {int64_t{2}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("axes 2 is no dimension"));
  call.params[0] = param_of("axes", {});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

// 1 and 2048 halves of it: f16 would stay at 2048, the sum of f32 does not.
TEST(GoldenCumsum, RoundsEachPrefixOnce) {
  const GoldenTry call{"CumsumOperation",
                       {param_of("axes", {int64_t{0}})},
                       {tensor_of(DType::f16, {4}, {2048, 1, 1, INFINITY})}};
  const auto outputs = call.run();
  ASSERT_TRUE(outputs.has_value());
  EXPECT_THAT(written((*outputs)[0]), ElementsAre(2048, 2048, 2050, INFINITY));
  const std::vector<double> allowed = allowed_of((*outputs)[0]);
  EXPECT_EQ(allowed[0], 0);                           // nothing was added
  EXPECT_NEAR(allowed[1], 4 * 0x1p-24 * 2049, 1e-6);  // one addition in f32
  EXPECT_EQ(allowed[3], 0);
}

TEST(GoldenReduce, FoldsDimensions) {
  GoldenTry call{"ReduceOperation",
                 {param_of("reduceType", {int64_t{1}}), param_of("axis", {int64_t{1}})},
                 {tensor_of(DType::f32, {2, 3}, {1, -2, 3, -4, -5, -6})}};
  EXPECT_THAT(computed(call), ElementsAre(3, -4));
  EXPECT_EQ(call.run().value()[0].value->meta.shape, (Shape{{2}}));
  call.params[0] = param_of("reduceType", {int64_t{2}});
  EXPECT_THAT(computed(call), ElementsAre(-2, -6));
  call.params[0] = param_of("reduceType", {int64_t{3}});
  EXPECT_THAT(computed(call), ElementsAre(2, -15));
  call.params[1] = param_of("axis", {int64_t{1}, int64_t{0}});
  EXPECT_THAT(computed(call), ElementsAre(-13));
  EXPECT_EQ(call.run().value()[0].value->meta.shape, (Shape{{1}}));
  call.out = {TensorMeta{DType::f32, Shape{}}};
  EXPECT_EQ(call.run().value()[0].value->meta.shape, Shape{});
  call.params[1] = param_of("axis", {int64_t{0}});
  EXPECT_THAT(computed(call), ElementsAre(-3, -7, -3));
  call.params[1] = param_of("axis", {int64_t{3}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params[1] = param_of("axis", {});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params[0] = param_of("reduceType", {int64_t{0}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("none of 1, 2, 3"));
}

TEST(GoldenReduce, KeepsNanAndHasNoExtremeOfNothing) {
  GoldenTry call{"ReduceOperation",
                 {param_of("reduceType", {int64_t{1}}), param_of("axis", {int64_t{1}})},
                 {tensor_of(DType::f16, {3, 2}, {NAN, 1, 2, NAN, -INFINITY, -INFINITY})}};
  EXPECT_THAT(computed(call), ElementsAre(IsNan(), IsNan(), -INFINITY));
  call.in[0] = tensor_of(DType::f16, {2, 0}, {});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("no extreme of no elements"));
  call.params[0] = param_of("reduceType", {int64_t{3}});
  EXPECT_THAT(computed(call), ElementsAre(0, 0));
  call.in[0] = tensor_of(DType::f16, {0, 2}, {});
  EXPECT_THAT(computed(call), IsEmpty());
}

// The fixture reduce_sum_i32.
TEST(GoldenReduce, AddsWholeNumbersExactly) {
  GoldenTry call{"ReduceOperation",
                 {param_of("reduceType", {int64_t{3}}), param_of("axis", {int64_t{0}})},
                 {tensor_of(DType::i32, {3, 4}, {5, -29, 11, 7, -33, -19, 22, 34, -2, -38, 31, -34})}};
  EXPECT_THAT(computed(call), ElementsAre(-30, -86, 64, 7));
  EXPECT_FALSE(call.run().value()[0].rounds());
  call.in[0] = tensor_of(DType::i32, {2}, {2147483647, 1});
  EXPECT_THAT(computed(call), ElementsAre(-2147483648.0));
  call.params[0] = param_of("reduceType", {int64_t{2}});
  EXPECT_THAT(computed(call), ElementsAre(1));
}

TEST(GoldenSort, KeepsTheLargestAndTheirPlaces) {
  GoldenTry call{"SortOperation",
                 {param_of("num", {int64_t{3}})},
                 {tensor_of(DType::f16, {2, 4}, {1, 3, 3, 2, -INFINITY, -1, NAN, 0})}};
  EXPECT_THAT(computed(call), ElementsAre(3, 3, 2, IsNan(), 0, -1));
  EXPECT_THAT(computed(call, 1), ElementsAre(1, 2, 3, 2, 3, 1));
  EXPECT_EQ(call.run().value()[1].dtype, DType::i32);
  call.in[0] = tensor_of(DType::i64, {3}, {7, 9, 8});
  EXPECT_THAT(computed(call), ElementsAre(9, 8, 7));
  call.params[0] = param_of("num", {int64_t{4}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("not between 1 and 3"));
  call.params.clear();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("num is missing"));
}

}  // namespace
}  // namespace assay
