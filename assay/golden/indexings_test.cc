#include "assay/golden/golden_test_tools.h"

#include <numeric>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OperandPtr rising(DType dtype, std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(Shape{dims}.count()));
  std::iota(values.begin(), values.end(), 0);
  return tensor_of(dtype, std::move(dims), values);
}

std::vector<double> indexed(const GoldenTry& call, const Shape& shape, size_t output = 0) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  if (!outputs || outputs->size() <= output) return {};
  EXPECT_EQ((*outputs)[output].value->meta.shape, shape) << (*outputs)[output].value->meta.shape.text();
  return written((*outputs)[output]);
}

TEST(GoldenGather, PicksAlongADimension) {
  GoldenTry call{"GatherOperation",
                 {param_of("axis", {int64_t{0}}), param_of("batchDims", {int64_t{0}})},
                 {rising(DType::f16, {3, 2}), tensor_of(DType::i64, {2, 2}, {0, 2, 1, 1})}};
  EXPECT_THAT(indexed(call, Shape{{2, 2, 2}}), ElementsAre(0, 1, 4, 5, 2, 3, 2, 3));
  EXPECT_EQ(call.run().value()[0].dtype, DType::f16);
  call.params[0] = param_of("axis", {int64_t{1}});
  call.in[1] = tensor_of(DType::i32, {3}, {1, 0, 1});
  EXPECT_THAT(indexed(call, Shape{{3, 3}}), ElementsAre(1, 0, 1, 3, 2, 3, 5, 4, 5));
  call.params[1] = param_of("batchDims", {int64_t{1}});
  call.in[1] = tensor_of(DType::i32, {3, 2}, {1, 1, 0, 1, 0, 0});
  EXPECT_THAT(indexed(call, Shape{{3, 2}}), ElementsAre(1, 1, 2, 3, 4, 4));
  call.in[1] = tensor_of(DType::i32, {3, 0}, {});
  EXPECT_THAT(indexed(call, Shape{{3, 0}}), IsEmpty());
  call.in[1] = tensor_of(DType::i32, {2, 1}, {0, 0});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("first 1 dimensions"));
  call.params[1] = param_of("batchDims", {int64_t{0}});
  call.in[1] = tensor_of(DType::i32, {1}, {2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("index 2 lies outside the 2 of dimension 1"));
  call.in[1] = tensor_of(DType::i32, {1}, {-1});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params[1] = param_of("batchDims", {int64_t{-1}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params[1] = param_of("batchDims", {int64_t{2}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params.pop_back();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("batchDims is missing"));
}

// [2, 2, 3, 2] with two indices for each of the first two: axis 2 within a batch.
TEST(GoldenGather, PairsBatches) {
  const GoldenTry call{"GatherOperation",
                       {param_of("axis", {int64_t{2}}), param_of("batchDims", {int64_t{1}})},
                       {rising(DType::i32, {2, 2, 3, 1}), tensor_of(DType::i32, {2, 2}, {2, 0, 1, 1})}};
  EXPECT_THAT(indexed(call, Shape{{2, 2, 2, 1}}), ElementsAre(2, 0, 5, 3, 7, 7, 10, 10));
}

TEST(GoldenOnehot, PutsTheClassAtTheAxis) {
  GoldenTry call{"OnehotOperation",
                 {param_of("axis", {int64_t{-1}}), param_of("depth", {int64_t{4}})},
                 {tensor_of(DType::i64, {3}, {2, 0, 3}), tensor_of(DType::i64, {1}, {1}),
                  tensor_of(DType::i64, {1}, {0})}};
  const auto by_row = ElementsAre(0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1);
  EXPECT_THAT(indexed(call, Shape{{3, 4}}), by_row);
  call.params[0] = param_of("axis", {int64_t{0}});
  EXPECT_THAT(indexed(call, Shape{{4, 3}}), ElementsAre(0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1));
  // The fixture onehot: axis 0, and still the class comes last.
  call.out = {TensorMeta{DType::i64, Shape{{3, 4}}}};
  EXPECT_THAT(indexed(call, Shape{{3, 4}}), by_row);
  call.in[1] = tensor_of(DType::i64, {1}, {7});
  call.in[2] = tensor_of(DType::i64, {1}, {-1});
  EXPECT_THAT(indexed(call, Shape{{3, 4}}), ElementsAre(-1, -1, 7, -1, 7, -1, -1, -1, -1, -1, -1, 7));
  call.params[0] = param_of("axis", {int64_t{2}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params = {param_of("axis", {int64_t{0}}), param_of("depth", {int64_t{3}})};
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("class 3 lies outside the depth 3"));
  call.in[0] = tensor_of(DType::f16, {1}, {1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("whole numbers are wanted"));
}

TEST(GoldenOnehot, WantsBothMarksOrNone) {
  GoldenTry call{
      "OnehotOperation",
      {param_of("axis", {int64_t{-1}}), param_of("depth", {int64_t{2}})},
      {tensor_of(DType::i64, {1}, {1}), tensor_of(DType::i64, {0}, {}), tensor_of(DType::i64, {1}, {7})}};
  EXPECT_THAT(indexed(call, Shape{{1, 2}}), ElementsAre(7, 1));  // what is empty is not given
  call.in[1] = tensor_of(DType::i64, {2}, {1, 1});
  EXPECT_THAT(error_of(call.run()).message,
              HasSubstr("input 1 of OnehotOperation has the shape [2], not [1]"));
  call.in.pop_back();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 1 or 3 inputs, the dump has 2"));
}

TEST(GoldenNonzero, ListsPlaces) {
  GoldenTry call{"NonzeroOperation", {}, {tensor_of(DType::i64, {2, 3}, {0, 3, 0, 5, 0, 1})}};
  EXPECT_THAT(indexed(call, Shape{{2, 6}}), ElementsAre(0, 1, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0));
  EXPECT_THAT(indexed(call, Shape{{1}}, 1), ElementsAre(3));
  call.in[0] = tensor_of(DType::f32, {3}, {-0.0, NAN, 0});
  EXPECT_THAT(indexed(call, Shape{{1, 3}}), ElementsAre(1, 0, 0));
  call.in[0] = tensor_of(DType::f32, {0, 3}, {});
  EXPECT_THAT(indexed(call, Shape{{2, 0}}), IsEmpty());
  EXPECT_THAT(indexed(call, Shape{{1}}, 1), ElementsAre(0));
}

// The vector of the specification.
TEST(GoldenGating, SortsTokensByExpert) {
  GoldenTry call{"GatingOperation",
                 {param_of("topkExpertNum", {int64_t{2}}), param_of("cumSumNum", {int64_t{4}})},
                 {tensor_of(DType::i32, {8}, {0, 3, 1, 0, 2, 1, 3, 0}), rising(DType::i32, {8})}};
  EXPECT_THAT(indexed(call, Shape{{8}}), ElementsAre(0, 1, 3, 1, 2, 2, 0, 3));
  EXPECT_THAT(indexed(call, Shape{{4}}, 1), ElementsAre(3, 5, 6, 8));
  EXPECT_THAT(indexed(call, Shape{{8}}, 2), ElementsAre(0, 3, 7, 2, 5, 4, 1, 6));
  EXPECT_EQ(call.run().value().size(), 3u);
  EXPECT_EQ(call.run().value()[1].dtype, DType::i32);
  call.params.push_back(param_of("cumSumInt64", {true}));
  EXPECT_EQ(call.run().value()[1].dtype, DType::i64);
  // Experts 3 and 1 of this device: what is left of the others is zero.
  call.params[2] = param_of("deviceExpert", {int64_t{3}, int64_t{1}});
  call.out = {{}, TensorMeta{DType::i64, Shape{{2}}}};
  EXPECT_THAT(indexed(call, Shape{{8}}), ElementsAre(1, 2, 0, 3, 0, 0, 0, 0));
  EXPECT_THAT(indexed(call, Shape{{2}}, 1), ElementsAre(2, 4));
  EXPECT_EQ(call.run().value()[1].dtype, DType::i64);
  EXPECT_THAT(indexed(call, Shape{{8}}, 2), ElementsAre(2, 5, 1, 6, 0, 0, 0, 0));
  EXPECT_THAT(indexed(call, Shape{{1}}, 3), ElementsAre(4));
  call.params[2] = param_of("deviceExpert", {int64_t{4}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params = {param_of("topkExpertNum", {int64_t{2}}), param_of("cumSumNum", {int64_t{3}})};
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("expert 3 is none of the 3"));
  call.params[1] = param_of("cumSumNum", {int64_t{0}});  // not counted
  EXPECT_THAT(indexed(call, Shape{{1}}, 1), ElementsAre(0));
  EXPECT_THAT(indexed(call, Shape{{8}}), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  call.params[0] = param_of("topkExpertNum", {int64_t{0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenIndexAdd, AddsSlices) {
  GoldenTry call{
      "IndexAddOperation",
      {param_of("indexType", {int64_t{1}}), param_of("axis", {int64_t{0}})},
      {rising(DType::f32, {3, 2}), tensor_of(DType::i32, {3}, {2, 0, 2}),
       tensor_of(DType::f32, {3, 2}, {1, 2, 10, 20, 100, 200}), tensor_of(DType::f32, {1}, {0.5})}};
  EXPECT_THAT(indexed(call, Shape{{3, 2}}), ElementsAre(5, 11, 2, 3, 54.5, 106));
  // One addition, and a factor that is a power of two: only the last rounding. Two: the first one counts.
  const std::vector<double> allowed = allowed_of(call.run().value()[0]);
  EXPECT_THAT(allowed, ElementsAre(0, 0, 0, 0, testing::Gt(0), testing::Gt(0)));
  EXPECT_NEAR(allowed[4], 4 * 0x1p-24 * 4.5, 1e-9);
  call.params[1] = param_of("axis", {int64_t{-1}});
  call.in[1] = tensor_of(DType::i32, {1}, {1});
  call.in[2] = tensor_of(DType::f32, {3, 1}, {2, 4, 6});
  EXPECT_THAT(indexed(call, Shape{{3, 2}}), ElementsAre(0, 2, 2, 5, 4, 8));
  call.in[1] = tensor_of(DType::i32, {1}, {2});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("index 2 lies outside"));
  call.in[2] = tensor_of(DType::f32, {2, 1}, {2, 4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("updates of shape [2, 1]"));
  call.params[0] = param_of("indexType", {int64_t{0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenIndexAdd, CountsOnlyValidIndices) {
  GoldenTry call{"IndexAddOperation",
                 {param_of("indexType", {int64_t{2}}), param_of("axis", {int64_t{0}})},
                 {tensor_of(DType::f16, {2, 1}, {2048, 0}), tensor_of(DType::i32, {3}, {0, 0, 1}),
                  tensor_of(DType::f16, {3, 1}, {1, 1, 5}), tensor_of(DType::i32, {1}, {2})}};
  EXPECT_THAT(indexed(call, Shape{{2, 1}}), ElementsAre(2050, 0));  // f16 would have lost both ones
  call.in[3] = tensor_of(DType::i32, {1}, {0});
  EXPECT_THAT(indexed(call, Shape{{2, 1}}), ElementsAre(2048, 0));
  call.in[3] = tensor_of(DType::i32, {1}, {4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("4 of 3 indices"));
  call.in[0] = tensor_of(DType::i8, {2, 1}, {100, 0});
  call.in[2] = tensor_of(DType::i8, {3, 1}, {50, 50, 5});
  call.in[3] = tensor_of(DType::i32, {1}, {2});
  EXPECT_THAT(indexed(call, Shape{{2, 1}}), ElementsAre(-56, 0));
}

TEST(GoldenScatterElements, WritesAndAdds) {
  GoldenTry call{
      "ScatterElementsV2Operation",
      {param_of("axis", {int64_t{1}}), param_of("reduction", {int64_t{0}})},
      {tensor_of(DType::f16, {2, 3}, {0, 1, 2, 3, 4, 5}), tensor_of(DType::i32, {2, 2}, {2, 0, 1, 1}),
       tensor_of(DType::f16, {2, 2}, {10, 20, 30, 40})}};
  EXPECT_THAT(indexed(call, Shape{{2, 3}}), ElementsAre(20, 1, 10, 3, 40, 5));
  const Expected output = std::move(call.run().value()[0]);
  ASSERT_NE(output.known, nullptr);  // 30 or 40: nobody knows
  EXPECT_THAT(numbers_of(*output.known, 1 << 20).value().values, ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_THAT(output.note, HasSubstr("not defined"));
  call.params[1] = param_of("reduction", {int64_t{1}});
  EXPECT_THAT(indexed(call, Shape{{2, 3}}), ElementsAre(20, 1, 12, 3, 74, 5));
  call.params[0] = param_of("axis", {int64_t{0}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("index 2 lies outside the 2 of dimension 0"));
  call.in[1] = tensor_of(DType::i32, {2, 4}, std::vector<double>(8, 0));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("do not fit"));
}

TEST(GoldenGroupTopk, KeepsTheBestGroups) {
  // Groups of two: largest 5, 6, 4; sums of two 9, 7, 8.
  const OperandPtr scores = tensor_of(DType::f16, {1, 6}, {4, 5, 6, 1, 4, 4});
  GoldenTry call{"GroupTopkOperation",
                 {param_of("groupNum", {int64_t{3}}), param_of("k", {int64_t{2}}),
                  param_of("groupMultiFlag", {int64_t{0}}), param_of("n", {int64_t{2}})},
                 {scores}};
  EXPECT_THAT(indexed(call, Shape{{1, 6}}), ElementsAre(4, 5, 6, 1, 0, 0));
  call.params[2] = param_of("groupMultiFlag", {int64_t{1}});
  EXPECT_THAT(indexed(call, Shape{{1, 6}}), ElementsAre(4, 5, 0, 0, 4, 4));
  call.params[0] = param_of("groupNum", {int64_t{4}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("groupNum 4, k 2 and n 2 do not fit 6 experts"));
}

}  // namespace
}  // namespace assay
