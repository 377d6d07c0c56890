#include "assay/metric/numpy_stats.h"

#include "assay/metric/metric_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::assay::testing::kInf;
using ::assay::testing::kNan;
using ::assay::testing::narrowed;

Stats stats_of(DType dtype, const std::vector<double>& values) {
  return numpy_statistics(gather_one(*narrowed(dtype, values)).value(), dtype);
}

void expect_same(const Value& found, double expected) {
  ASSERT_TRUE(std::holds_alternative<double>(found));
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(std::get<double>(found)));
  else
    EXPECT_DOUBLE_EQ(std::get<double>(found), expected);
}

// All expected numbers were printed by NumPy 1.24.
struct Known {
  DType dtype;
  std::vector<double> values;
  double max, min, mean, norm;
};

TEST(NumpyStatistics, OfReals) {
  const Known kKnown[] = {
      {DType::f32, {1, 2, 4}, 4, 1, 2.3333332538604736, 4.582575798034668},
      {DType::f64, {0.1, 0.2, 0.4}, 0.4, 0.1, 0.23333333333333336, 0.45825756949558405},
      {DType::f16, {0.1, 0.2, 0.4}, 0.39990234375, 0.0999755859375, 0.2332763671875, 0.4580078125},
      {DType::f16, {1, 3, 5, 9}, 9, 1, 4.5, 10.7734375},
      {DType::f16, {2.5}, 2.5, 2.5, 2.5, 2.5},
  };
  for (const Known& known : kKnown) {
    const Stats stats = stats_of(known.dtype, known.values);
    expect_same(stats.max, known.max);
    expect_same(stats.min, known.min);
    expect_same(stats.mean, known.mean);
    expect_same(stats.norm, known.norm);
  }
}

TEST(NumpyStatistics, SquaresOverflowInTheTypeOfTheTensor) {
  expect_same(stats_of(DType::f16, {300, 300, -300}).norm, kInf);
  expect_same(stats_of(DType::f16, {300, 300, -300}).mean, 100);
  expect_same(stats_of(DType::f32, {1e20, 2e20}).norm, kInf);
  expect_same(stats_of(DType::f64, {3e20, 4e20}).norm, 5e20);
}

TEST(NumpyStatistics, NanAndInfinitiesPropagate) {
  const Known kKnown[] = {
      {DType::f32, {1, kNan, kInf}, kNan, kNan, kNan, kNan},
      {DType::f32, {1, -kInf, 2}, 2, -kInf, -kInf, kInf},
      {DType::f16, {1, kInf, 2}, kInf, 1, kInf, kInf},
      {DType::f64, {kInf, -kInf}, kInf, -kInf, kNan, kInf},
      {DType::f64, {-kInf, -kInf}, -kInf, -kInf, -kInf, kInf},
  };
  for (const Known& known : kKnown) {
    const Stats stats = stats_of(known.dtype, known.values);
    expect_same(stats.max, known.max);
    expect_same(stats.min, known.min);
    expect_same(stats.mean, known.mean);
    expect_same(stats.norm, known.norm);
  }
}

TEST(NumpyStatistics, OfIntegersAndTruthValues) {
  const Stats whole = stats_of(DType::i32, {3, -4, 7});
  EXPECT_EQ(whole.max, Value(int64_t{7}));
  EXPECT_EQ(whole.min, Value(int64_t{-4}));
  expect_same(whole.mean, 2);
  expect_same(whole.norm, 8.602325267042627);
  EXPECT_EQ(stats_of(DType::u8, {3, 200}).max, Value(int64_t{200}));
  EXPECT_EQ(stats_of(DType::u64, {18446744073709551615.0}).max, Value(INT64_MAX));  // what we can hold of it
  const Stats truth = stats_of(DType::boolean, {1, 0, 1});
  EXPECT_EQ(truth.max, Value(true));
  EXPECT_EQ(truth.min, Value(false));
  expect_same(truth.mean, 0.6666666666666666);
  expect_same(truth.norm, 1.4142135623730951);
}

TEST(NumpyStatistics, OfNothingAreAbsent) {
  const Stats stats = stats_of(DType::f32, {});
  for (const Value& value : {stats.max, stats.min, stats.mean, stats.norm}) EXPECT_EQ(value, Value());
}

TEST(NumpyStatistics, OfComplexNumbersAreTheNormAlone) {
  const auto operand = testing::tensor<float>(DType::c64, {3, 4, 0, 0});
  const Stats stats = numpy_statistics(gather_one(*operand).value(), DType::c64);
  expect_same(stats.norm, 5);
  EXPECT_EQ(stats.max, Value());
  EXPECT_EQ(stats.mean, Value());
}

}  // namespace
}  // namespace assay
