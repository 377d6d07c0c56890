#include "assay/run/compare/recipe.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = NAN;
using Numbers = std::vector<double>;

OperandPtr tensor_of(DType dtype, const Numbers& parts, std::vector<int64_t> dims) {
  std::vector<std::byte> bytes(parts.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(dtype, parts.data(), std::ssize(parts), bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{std::move(dims)}});
}

// What is left of a tensor where the other side has no more than its range.
OperandPtr range_of(OperandPtr data) {
  const Matched nothing;
  Loader loader(nothing.frames, {});
  RecipeBook book(nothing, loader);
  Recipe recipe;
  recipe.range_of = Side::golden;
  const auto untouched = book.prepare(Side::mine, recipe, data);
  EXPECT_TRUE(untouched && *untouched == data);
  auto range = book.prepare(Side::golden, recipe, std::move(data));
  EXPECT_TRUE(range) << range.error().message;
  return range ? *range : nullptr;
}

Numbers numbers_in(const Operand& data) {
  const auto bytes = read_whole(data, 1 << 20).value();
  Numbers values(bytes.size() / static_cast<size_t>(size_of(component(data.meta.dtype))));
  to_f64(data.meta.dtype, bytes.data(), std::ssize(values), values.data());
  return values;
}

Numbers range_in(DType dtype, const Numbers& values) {
  const OperandPtr range = range_of(tensor_of(dtype, values, {std::ssize(values)}));
  EXPECT_EQ(range->meta, (TensorMeta{dtype, Shape{{2}}}));
  return numbers_in(*range);
}

// Expected: what NumPy's min() and max() answer.
TEST(RangeOf, TheSmallestAndTheLargest) {
  EXPECT_EQ(range_in(DType::f16, {3, -1, 2}), (Numbers{-1, 3}));
  EXPECT_EQ(range_in(DType::bf16, {7}), (Numbers{7, 7}));
  EXPECT_EQ(range_in(DType::i32, {-5, 9, 0}), (Numbers{-5, 9}));
  EXPECT_EQ(range_in(DType::boolean, {0, 1, 0}), (Numbers{0, 1}));
  EXPECT_EQ(range_in(DType::boolean, {1, 1}), (Numbers{1, 1}));
}

TEST(RangeOf, InfiniteElementsCount) {
  EXPECT_EQ(range_in(DType::f32, {1, kInf, 2}), (Numbers{1, kInf}));
  EXPECT_EQ(range_in(DType::f32, {1, -kInf, 2}), (Numbers{-kInf, 2}));
  EXPECT_EQ(range_in(DType::f32, {kInf, kInf}), (Numbers{kInf, kInf}));
  EXPECT_EQ(range_in(DType::f32, {-kInf, -kInf}), (Numbers{-kInf, -kInf}));
}

TEST(RangeOf, NanIsBoth) {
  for (const double each : range_in(DType::f16, {1, kNan, kInf})) EXPECT_TRUE(std::isnan(each));
}

TEST(RangeOf, NothingHasNoRange) {
  const OperandPtr of_reals = range_of(tensor_of(DType::f16, {}, {0, 4}));
  EXPECT_EQ(of_reals->meta, (TensorMeta{DType::f16, Shape{{2}}}));
  for (const double each : numbers_in(*of_reals)) EXPECT_TRUE(std::isnan(each));
  // Whole numbers know no NaN.
  const OperandPtr of_integers = range_of(tensor_of(DType::i64, {}, {0}));
  EXPECT_EQ(of_integers->meta, (TensorMeta{DType::f64, Shape{{2}}}));
  for (const double each : numbers_in(*of_integers)) EXPECT_TRUE(std::isnan(each));
}

TEST(RangeOf, ComplexNumbersGoByTheirRealParts) {
  const OperandPtr range = range_of(tensor_of(DType::c64, {1, 5, 1, -5, 0, 9, 1, 7}, {4}));
  EXPECT_EQ(range->meta, (TensorMeta{DType::c64, Shape{{2}}}));
  EXPECT_EQ(numbers_in(*range), (Numbers{0, 9, 1, 7}));
}

// Beyond 2^53 a double does not tell neighbours apart.
TEST(RangeOf, WholeNumbersAreExact) {
  const int64_t values[] = {-9007199254740993, 9007199254740993, 3};
  std::vector<std::byte> bytes(sizeof values);
  std::memcpy(bytes.data(), values, sizeof values);
  const OperandPtr range = range_of(dense_in_memory(std::move(bytes), TensorMeta{DType::i64, Shape{{3}}}));
  const auto found = read_whole(*range, 16).value();
  int64_t both[2];
  ASSERT_EQ(found.size(), sizeof both);
  std::memcpy(both, found.data(), sizeof both);
  EXPECT_EQ(both[0], -9007199254740993);
  EXPECT_EQ(both[1], 9007199254740993);
}

}  // namespace
}  // namespace assay
