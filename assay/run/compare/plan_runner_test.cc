#include "assay/run/compare/plan_runner.h"

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

// A section of one frame with one item, of which nothing is read.
Indexed one_item() {
  Indexed frames;
  frames.mine.emplace_back().nodes.emplace_back().items.emplace_back();
  return frames;
}

// What is left of a tensor where the other side has no more than its extremes.
OperandPtr range_of(OperandPtr data) {
  const Indexed frames = one_item();
  Loader loader(frames, {});
  Plan plan = as_it_stands(Side::mine, {});
  const auto untouched = PlanRunner(frames, loader).run(plan, data);
  EXPECT_TRUE(untouched && untouched->own() == data);
  plan.add(PlanOp::extremes);
  auto range = PlanRunner(frames, loader).run(plan, std::move(data));
  EXPECT_TRUE(range) << range.error().message;
  return range ? range->own() : nullptr;
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

// 0, 1, 2 … after one step.
Numbers after(PlanOp op, std::vector<int64_t> dims, std::vector<int64_t> args) {
  const Indexed frames = one_item();
  Loader loader(frames, {});
  Numbers values(static_cast<size_t>(Shape{dims}.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  Plan plan = as_it_stands(Side::mine, {});
  plan.add(op, std::move(args));
  const auto made = PlanRunner(frames, loader).run(plan, tensor_of(DType::f32, values, std::move(dims)));
  EXPECT_TRUE(made) << made.error().message;
  return made ? numbers_in(*made->own()) : Numbers();
}

// [q | k | v] of widths 2, 1, 1 on each of two ranks.
TEST(PartOf, StandsBehindThoseBeforeIt) {
  EXPECT_EQ(after(PlanOp::part, {1, 8}, {0, -1, 2, 0, 2, 1, 1}), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(after(PlanOp::part, {1, 8}, {1, -1, 2, 0, 2, 1, 1}), (Numbers{4, 5}));
  EXPECT_EQ(after(PlanOp::part, {8, 1}, {2, 0, 2, 0, 2, 1, 1}), (Numbers{6, 7}));
}

TEST(PartOf, IsNotSharedOutWhereRanksHoldTheSameKeys) {
  EXPECT_EQ(after(PlanOp::part, {1, 6}, {0, -1, 2, 0, 2, 1, 1}), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(after(PlanOp::part, {1, 6}, {2, -1, 2, 0, 2, 1, 1}), (Numbers{5}));
}

TEST(PartOf, LiesHeadByHead) {
  EXPECT_EQ(after(PlanOp::part, {1, 12}, {1, -1, 1, 2, 4, 4, 4}), (Numbers{2, 3, 8, 9}));
  EXPECT_EQ(after(PlanOp::part, {6, 2}, {2, 0, 1, 2, 2, 2, 2}), (Numbers{4, 5, 10, 11}));
}

TEST(PartOf, IsAllWhereTheWidthsDoNotFit) {
  EXPECT_EQ(after(PlanOp::part, {1, 3}, {1, -1, 2, 0, 2, 1, 1}), (Numbers{0, 1, 2}));
  EXPECT_EQ(after(PlanOp::part, {1, 3}, {1, -1, INT64_MAX, 0, INT64_MAX, 1, 1}), (Numbers{0, 1, 2}));
  EXPECT_EQ(after(PlanOp::part, {1, 3}, {1, -1, 1, 2, 1, 1, 1}), (Numbers{0, 1, 2}));
}

TEST(LastRows, AreThoseOfEverySequence) {
  EXPECT_EQ(after(PlanOp::last_rows, {2, 3, 2}, {2}), (Numbers{4, 5, 10, 11}));
  EXPECT_EQ(after(PlanOp::last_rows, {2, 1, 2}, {2}), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(after(PlanOp::last_rows, {3, 2}, {INT64_MAX}), (Numbers{0, 1, 2, 3, 4, 5}));
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

OperandPtr made_by(const Plan& plan, OperandPtr data) {
  const Indexed frames = one_item();
  Loader loader(frames, {});
  const auto made = PlanRunner(frames, loader).run(plan, std::move(data));
  EXPECT_TRUE(made) << made.error().message;
  return made ? made->own() : nullptr;
}

TEST(PlanRunner, CutsAndJoinsAgain) {
  const Indexed frames = one_item();
  Loader loader(frames, {});
  Plan plan = as_it_stands(Side::mine, {});
  plan.cut_in_pieces(kLastDimension, {1, 2});
  const auto made = PlanRunner(frames, loader).run(plan, tensor_of(DType::f32, {1, 2, 3, 4, 5, 6}, {2, 3}));
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->parts.size(), 2U);
  EXPECT_EQ(numbers_in(*made->parts[0].own), (Numbers{1, 4}));
  EXPECT_EQ(numbers_in(*made->parts[1].own), (Numbers{2, 3, 5, 6}));
}

TEST(PlanRunner, RefusesACutBeyondTheEnd) {
  const Indexed frames = one_item();
  Loader loader(frames, {});
  Plan plan = as_it_stands(Side::mine, {});
  plan.cut_in_pieces(0, {1, 2});
  const auto made = PlanRunner(frames, loader).run(plan, tensor_of(DType::f32, {1, 2}, {2, 1}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "shape [2, 1] has no 2 indices from 1 on along dimension 0");
}

// What an all-gather stacks, two ranks of two columns each.
TEST(PlanRunner, LaysAStackSideBySide) {
  Plan plan = as_it_stands(Side::mine, {});
  plan.add(PlanOp::unstack);
  const OperandPtr made = made_by(plan, tensor_of(DType::f32, {1, 2, 5, 6, 3, 4, 7, 8}, {2, 2, 2}));
  EXPECT_EQ(made->meta.shape, (Shape{{2, 4}}));
  EXPECT_EQ(numbers_in(*made), (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  const OperandPtr empty = made_by(plan, tensor_of(DType::f32, {}, {2, 0, int64_t{1} << 62}));
  EXPECT_EQ(empty->meta.shape.count(), 0);
}

TEST(PlanRunner, MakesInt8RealByStatedNumbers) {
  Plan plan = as_it_stands(Side::mine, {});
  plan.add(PlanOp::dequantise);
  plan.steps.back().numbers = {4, 2};  // q = x * 4 + 2
  EXPECT_EQ(numbers_in(*made_by(plan, tensor_of(DType::i8, {2, 6, -2}, {3}))), (Numbers{0, 1, -1}));
}

}  // namespace
}  // namespace assay
