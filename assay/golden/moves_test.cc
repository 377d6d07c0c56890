#include "assay/golden/golden_test_tools.h"

#include <numeric>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// 0, 1, 2, … under a shape.
OperandPtr counted(DType dtype, std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(Shape{dims}.count()));
  std::iota(values.begin(), values.end(), 0);
  return tensor_of(dtype, std::move(dims), values);
}

std::vector<Value> numbers(std::initializer_list<int64_t> list) { return {list.begin(), list.end()}; }

// One output, as its elements; its shape is checked.
std::vector<double> moved(const GoldenTry& call, const Shape& shape, size_t output = 0) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  if (!outputs || outputs->size() <= output) return {};
  EXPECT_EQ((*outputs)[output].value->meta.shape, shape) << (*outputs)[output].value->meta.shape.text();
  EXPECT_FALSE((*outputs)[output].rounds());
  return written((*outputs)[output]);
}

TEST(GoldenAsStrided, WalksThroughMemory) {
  GoldenTry call{"AsStridedOperation",
                 {param_of("size", numbers({2, 3})), param_of("stride", numbers({4, 2})),
                  param_of("offset", {int64_t{1}})},
                 {counted(DType::f16, {3, 5})}};
  EXPECT_THAT(moved(call, Shape{{2, 3}}), ElementsAre(1, 3, 5, 5, 7, 9));
  call.params[0] = param_of("size", numbers({2, 6}));  // 1 + 4 + 10 = 15 of 15
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("leaves the 15 elements"));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params[0] = param_of("size", numbers({2}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("2 strides for a shape of 1 dimensions"));
  call.params[0] = param_of("size", numbers({int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(call.run().has_value());
  call.params.pop_back();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("offset is missing"));
}

TEST(GoldenConcat, JoinsAlongADimension) {
  GoldenTry call{"ConcatOperation",
                 {param_of("concatDim", {int64_t{-1}})},
                 {counted(DType::f16, {2, 1}), tensor_of(DType::f16, {2, 2}, {7, 8, 9, 10})}};
  EXPECT_THAT(moved(call, Shape{{2, 3}}), ElementsAre(0, 7, 8, 1, 9, 10));
  call.params[0] = param_of("concatDim", {int64_t{0}});
  EXPECT_FALSE(call.run().has_value());
  call.params[0] = param_of("concatDim", {int64_t{2}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("concatDim 2 is no dimension"));
  call.params[0] = param_of("concatDim", {int64_t{1}});
  call.in[1] = tensor_of(DType::f32, {2, 2}, {7, 8, 9, 10});
  EXPECT_FALSE(call.run().has_value());
  call.in.clear();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 1 to"));
}

TEST(GoldenSlice, TakesABox) {
  GoldenTry call{"SliceOperation",
                 {param_of("offsets", numbers({1, -3})), param_of("size", numbers({2, -1}))},
                 {counted(DType::f16, {4, 5})}};
  EXPECT_THAT(moved(call, Shape{{2, 3}}), ElementsAre(7, 8, 9, 12, 13, 14));
  call.params[1] = param_of("size", numbers({0, 2}));
  EXPECT_THAT(moved(call, Shape{{0, 2}}), IsEmpty());
  call.params[1] = param_of("size", numbers({4, 1}));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params[1] = param_of("size", numbers({-2, 1}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("less than -1"));
  call.params[1] = param_of("size", numbers({1}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("do not fit the shape"));
  call.params = {param_of("offsets", numbers({-5, 0})), param_of("size", numbers({1, 1}))};
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("lies outside dimension 0"));
}

TEST(GoldenSplit, CutsAlikeOrBySizes) {
  GoldenTry call{
      "SplitOperation",
      {param_of("splitDim", {int64_t{-1}}), param_of("splitNum", {int64_t{2}}), param_of("splitSizes", {})},
      {counted(DType::f16, {2, 4})}};
  EXPECT_THAT(moved(call, Shape{{2, 2}}), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(moved(call, Shape{{2, 2}}, 1), ElementsAre(2, 3, 6, 7));
  call.params[2] = param_of("splitSizes", numbers({1, 3}));
  EXPECT_THAT(moved(call, Shape{{2, 3}}, 1), ElementsAre(1, 2, 3, 5, 6, 7));
  call.params[2] = param_of("splitSizes", numbers({1, 2}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("leave 1 of the 4"));
  call.params[2] = param_of("splitSizes", numbers({1, 2, 1}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("3 entries where splitNum is 2"));
  call.params[2] = param_of("splitSizes", numbers({9, -5}));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
  call.params[1] = param_of("splitNum", {int64_t{3}});  // 2, 2 and nothing
  call.params[2] = param_of("splitSizes", {});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("cannot be split into 3"));
  call.in[0] = counted(DType::f16, {5});
  EXPECT_THAT(moved(call, Shape{{1}}, 2), ElementsAre(4));
  call.params[1] = param_of("splitNum", {int64_t{4}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("none of 2, 3"));
}

TEST(GoldenTranspose, TurnsDimensions) {
  GoldenTry call{"TransposeOperation", {param_of("perm", numbers({1, 0}))}, {counted(DType::i64, {2, 3})}};
  EXPECT_THAT(moved(call, Shape{{3, 2}}), ElementsAre(0, 3, 1, 4, 2, 5));
  call.params[0] = param_of("perm", numbers({1, 1}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("twice"));
  call.params[0] = param_of("perm", numbers({1}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("1 entries for the shape"));
  call.params[0] = param_of("perm", numbers({0, 2}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("no dimension"));
  call.in[0] = counted(DType::f16, {0, 3});
  call.params[0] = param_of("perm", numbers({1, 0}));
  EXPECT_THAT(moved(call, Shape{{3, 0}}), IsEmpty());
}

TEST(GoldenRepeat, TilesAndAddsDimensions) {
  GoldenTry call{
      "RepeatOperation", {param_of("multiples", numbers({2, 1, 3}))}, {counted(DType::f16, {2, 2})}};
  EXPECT_THAT(moved(call, Shape{{2, 2, 6}}), ElementsAre(0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3,  //
                                                         0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3));
  call.params[0] = param_of("multiples", numbers({2, 2}));
  EXPECT_THAT(moved(call, Shape{{4, 4}}), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
  call.params[0] = param_of("multiples", numbers({0, 2}));
  EXPECT_THAT(moved(call, Shape{{0, 4}}), IsEmpty());
  call.params[0] = param_of("multiples", {int64_t{2}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("1 multiples for the shape [2, 2]"));
  call.params[0] = param_of("multiples", numbers({-1, 2}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("negative"));
  call.params[0] = param_of("multiples", numbers({int64_t{1} << 62, int64_t{1} << 62}));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::mismatch);
}

TEST(GoldenTransdata, MakesTilesAndRows) {
  GoldenTry call{"TransdataOperation",
                 {param_of("transdataType", {int64_t{2}}), param_of("outCrops", numbers({0, 0}))},
                 {counted(DType::f16, {3, 17})}};
  const std::vector<double> tiles = moved(call, Shape{{1, 2, 16, 16}});
  ASSERT_EQ(tiles.size(), 512u);
  EXPECT_EQ(tiles[0], 0);
  EXPECT_EQ(tiles[15], 15);
  EXPECT_EQ(tiles[16], 17);        // second row
  EXPECT_EQ(tiles[256], 16);       // second tile
  EXPECT_EQ(tiles[257], 0);        // filled up
  EXPECT_EQ(tiles[256 + 32], 50);  // third row
  EXPECT_EQ(tiles[48], 0);
  call.in[0] = counted(DType::i8, {1, 2, 40});
  EXPECT_EQ(moved(call, Shape{{1, 2, 16, 32}})[32 + 3], 43);  // tiles of int8 are twice as wide

  GoldenTry back{"TransdataOperation",
                 {param_of("transdataType", {int64_t{1}}), param_of("outCrops", numbers({2, 5}))},
                 {counted(DType::f16, {1, 2, 3, 4})}};
  EXPECT_THAT(moved(back, Shape{{1, 2, 5}}), ElementsAre(0, 1, 2, 3, 12, 4, 5, 6, 7, 16));
  back.params[1] = param_of("outCrops", numbers({4, 5}));
  EXPECT_THAT(error_of(back.run()).message, HasSubstr("do not fit"));
  back.params[1] = param_of("outCrops", numbers({0, 5}));
  EXPECT_THAT(moved(back, Shape{{1, 0, 5}}), IsEmpty());
  back.params[0] = param_of("transdataType", {int64_t{3}});
  EXPECT_EQ(error_of(back.run()).kind, ErrorKind::bad_argument);
  call.in[0] = counted(DType::f16, {4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("neither two nor three"));
}

TEST(GoldenFill, FillsAllOrWhatAMaskSays) {
  GoldenTry call{"FillOperation",
                 {param_of("withMask", {true}), param_of("outDim", {}), param_of("value", {2.5})},
                 {counted(DType::f16, {2, 3}), tensor_of(DType::i8, {1, 3}, {1, 0, -1})}};
  EXPECT_THAT(moved(call, Shape{{2, 3}}), ElementsAre(2.5, 1, 2.5, 2.5, 4, 2.5));
  call.in[1] = tensor_of(DType::i8, {2}, {1, 0});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("do not fit"));
  call.in.pop_back();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 2 inputs"));
  GoldenTry full{
      "FillOperation",
      {param_of("withMask", {false}), param_of("outDim", numbers({2, 2})), param_of("value", {-1.5})},
      {}};
  EXPECT_THAT(moved(full, Shape{{2, 2}}), ElementsAre(-1.5, -1.5, -1.5, -1.5));
  EXPECT_EQ(full.run().value()[0].dtype, DType::f16);
  full.params[1] = param_of("outDim", numbers({-1, 2}));
  EXPECT_FALSE(full.run().has_value());
  full.params[2] = param_of("value", {});
  EXPECT_THAT(error_of(full.run()).message, HasSubstr("value is empty"));
}

TEST(GoldenWhere, ChoosesBitForBit) {
  const double nan = std::nan("");
  GoldenTry call{"WhereOperation",
                 {},
                 {tensor_of(DType::i8, {1, 3}, {1, 0, 1}), tensor_of(DType::f16, {2, 1}, {1, nan}),
                  tensor_of(DType::f16, {2, 3}, {5, 6, 7, 8, INFINITY, 9})}};
  EXPECT_THAT(moved(call, Shape{{2, 3}}), ElementsAre(1, 6, 1, testing::IsNan(), INFINITY, testing::IsNan()));
  call.in[2] = tensor_of(DType::f32, {1}, {0});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("different types"));
}

TEST(GoldenSetValue, ReplacesABox) {
  GoldenTry call{"SetValueOperation",
                 {param_of("starts", numbers({0, 1})), param_of("ends", numbers({2, 3})),
                  param_of("strides", numbers({1, 1}))},
                 {counted(DType::f16, {3, 4}), tensor_of(DType::f16, {2, 2}, {-1, -2, -3, -4})}};
  EXPECT_THAT(moved(call, Shape{{3, 4}}), ElementsAre(0, -1, -2, 3, 4, -3, -4, 7, 8, 9, 10, 11));
  EXPECT_THAT(moved(call, Shape{{2, 2}}, 1), ElementsAre(-1, -2, -3, -4));
  // Once more changes nothing: where only what was left is dumped, the box is still checked.
  call.in[0] = call.run().value()[0].value;
  EXPECT_THAT(moved(call, Shape{{3, 4}}), ElementsAre(0, -1, -2, 3, 4, -3, -4, 7, 8, 9, 10, 11));
  call.params[1] = param_of("ends", numbers({2, 5}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("lies outside dimension 1"));
  call.params[1] = param_of("ends", numbers({2, 2}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("does not fill the box [2, 1]"));
  call.params[2] = param_of("strides", numbers({1, 2}));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

// The fixture set_value_1d: one start for two dimensions.
TEST(GoldenSetValue, TakesTheOtherDimensionsWhole) {
  GoldenTry call{
      "SetValueOperation",
      {param_of("starts", {int64_t{1}}), param_of("ends", {int64_t{3}}), param_of("strides", {int64_t{1}})},
      {counted(DType::f16, {4, 2}), tensor_of(DType::f16, {2, 2}, {-1, -2, -3, -4})}};
  EXPECT_THAT(moved(call, Shape{{4, 2}}), ElementsAre(0, 1, -1, -2, -3, -4, 6, 7));
}

TEST(GoldenGenAttentionMask, PacksSquares) {
  GoldenTry call{"GenAttentionMaskOperation",
                 {param_of("seqLen", numbers({1, 2})), param_of("headNum", {int64_t{2}})},
                 {counted(DType::f16, {2, 1, 3, 3})}};
  EXPECT_THAT(moved(call, Shape{{10}}), ElementsAre(0, 0, 9, 10, 12, 13, 9, 10, 12, 13));
  call.params[0] = param_of("seqLen", numbers({0, 0}));
  EXPECT_THAT(moved(call, Shape{{0}}), IsEmpty());
  call.params[0] = param_of("seqLen", numbers({1, 4}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("length 4 does not fit 3"));
  call.params[0] = param_of("seqLen", {int64_t{1}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("1 lengths for 2 samples"));
  call.params[1] = param_of("headNum", {int64_t{0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenPad, TakesTheLastTokens) {
  GoldenTry call{
      "PadOperation",
      {},
      {counted(DType::bf16, {5, 2}), tensor_of(DType::i32, {1, 5}, {0, 0, 0, 0, 0}),
       tensor_of(DType::i32, {2, 1}, {2, 3}), tensor_of(DType::i64, {2, 4}, std::vector<double>(8, 0))}};
  EXPECT_THAT(moved(call, Shape{{2, 2}}), ElementsAre(2, 3, 8, 9));
  call.in[2] = tensor_of(DType::i32, {2, 1}, {2, 4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("token 5 of 5"));
  call.in[2] = tensor_of(DType::i32, {2, 1}, {0, 4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("token -1 of 5"));
  call.in[2] = tensor_of(DType::i32, {2, 1}, {-2, 4});
  EXPECT_FALSE(call.run().has_value());
}

// The vector of the specification.
TEST(GoldenUnpad, PacksIds) {
  GoldenTry call{
      "UnpadOperation",
      {},
      {tensor_of(DType::i64, {2, 4}, {5, 6, 0, 0, 7, 8, 9, 0}), tensor_of(DType::i32, {2, 1}, {2, 3}),
       tensor_of(DType::i64, {1, 1}, {5}), tensor_of(DType::i32, {2, 1}, {2, 3})}};
  EXPECT_THAT(moved(call, Shape{{1, 8}}), ElementsAre(5, 6, 7, 8, 9, 0, 0, 0));
  EXPECT_THAT(moved(call, Shape{{2, 1}}, 1), ElementsAre(0, 2));
  EXPECT_THAT(moved(call, Shape{{1, 8}}, 2), ElementsAre(0, 0, 2, 2, 2, 0, 0, 0));
  EXPECT_EQ(call.run().value()[2].dtype, DType::i32);
  call.in[2] = tensor_of(DType::i64, {1, 1}, {6});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("add up to 5 tokens, not to 6"));
  call.in[3] = tensor_of(DType::i32, {2, 1}, {2, 5});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("length 5 does not fit 4"));
}

TEST(GoldenHiddenState, PadsAndUnpads) {
  GoldenTry call{"UnpadWithHiddenStateOperation",
                 {param_of("qSeqLen", numbers({1, 2})), param_of("maxSeqLen", {int64_t{3}})},
                 {counted(DType::f16, {2, 3, 2})}};
  EXPECT_THAT(moved(call, Shape{{3, 2}}), ElementsAre(0, 1, 6, 7, 8, 9));
  GoldenTry back{"PadWithHiddenStateOperation", call.params, {counted(DType::f16, {3, 2})}};
  EXPECT_THAT(moved(back, Shape{{2, 3, 2}}), ElementsAre(0, 1, 0, 0, 0, 0, 2, 3, 4, 5, 0, 0));
  back.in[0] = counted(DType::f16, {4, 2});
  EXPECT_THAT(error_of(back.run()).message, HasSubstr("adds up to 3 tokens, the input has 4"));
  back.params[1] = param_of("maxSeqLen", {int64_t{-1}});
  EXPECT_FALSE(back.run().has_value());
}

}  // namespace
}  // namespace assay
