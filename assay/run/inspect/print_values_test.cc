// Expected texts are what str() of the same array gives in NumPy 1.24.
#include "assay/run/inspect/print_values.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <bit>
#include <complex>
#include <limits>
#include <numeric>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
std::string printed(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  const OperandPtr operand = dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{std::move(dims)}});
  const auto text = print_values(*operand);
  return text ? *text : text.error().message;
}

std::string printed_as(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(component(dtype), values.data(), std::ssize(values), bytes.data());
  const auto text =
      print_values(*dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{std::move(dims)}}));
  return text ? *text : text.error().message;
}

template <class T>
std::vector<T> counted(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

TEST(PrintValues, FloatsAlignAtThePoint) {
  EXPECT_EQ(printed<float>(DType::f32, {2}, {0.1F, 0.12345678901F}), "[0.1        0.12345679]");
  EXPECT_EQ(printed_as(DType::f32, {2, 2}, {1, 2.5, -3, kNan}), "[[ 1.   2.5]\n [-3.   nan]]");
  EXPECT_EQ(printed<double>(DType::f64, {3}, {1.0 / 3, 2.0 / 3, 1e-3}), "[0.33333333 0.66666667 0.001     ]");
  EXPECT_EQ(printed<double>(DType::f64, {2}, {-0.0, 0.0}), "[-0.  0.]");
  EXPECT_EQ(printed_as(DType::f16, {1}, {59744}), "[59744.]");
  EXPECT_EQ(printed<float>(DType::f32, {1}, {99999992.0F}), "[99999992.]");
}

TEST(PrintValues, WideRangesGetExponents) {
  EXPECT_EQ(printed_as(DType::f16, {4}, {1e-5, 1, kNan, -kInf}), "[1.e-05 1.e+00    nan   -inf]");
  EXPECT_EQ(printed_as(DType::f16, {2}, {1.2345e-5, 0.1}), "[1.234e-05 9.998e-02]");
  EXPECT_EQ(printed<double>(DType::f64, {3}, {1e300, 1, -1e-300}), "[ 1.e+300  1.e+000 -1.e-300]");
  EXPECT_EQ(printed<float>(DType::f32, {2}, {1.2345678e-5F, 0.1F}), "[1.2345678e-05 1.0000000e-01]");
}

TEST(PrintValues, OnlyNonFinite) {
  EXPECT_EQ(printed_as(DType::f32, {2}, {kNan, kNan}), "[nan nan]");
  EXPECT_EQ(printed_as(DType::f32, {2}, {kInf, -kInf}), "[ inf -inf]");
}

TEST(PrintValues, IntegersAndTruthValues) {
  EXPECT_EQ(printed<int64_t>(DType::i64, {2, 3, 4}, counted<int64_t>(24)),
            "[[[ 0  1  2  3]\n  [ 4  5  6  7]\n  [ 8  9 10 11]]\n\n [[12 13 14 15]\n  [16 17 18 19]\n  [20 "
            "21 22 23]]]");
  EXPECT_EQ(printed<uint64_t>(DType::u64, {2}, {std::numeric_limits<uint64_t>::max(), 0}),
            "[18446744073709551615                    0]");
  EXPECT_EQ(printed<int64_t>(DType::i64, {2}, {std::numeric_limits<int64_t>::min(), 5}),
            "[-9223372036854775808                    5]");
  EXPECT_EQ(printed<int8_t>(DType::i8, {3}, {-128, 0, 5}), "[-128    0    5]");
  EXPECT_EQ(printed<uint8_t>(DType::boolean, {2}, {1, 0}), "[ True False]");
}

TEST(PrintValues, LongRowsWrap) {
  std::vector<int64_t> values = counted<int64_t>(40);
  for (int64_t& value : values) value *= 1000003;
  const std::string text = printed(DType::i64, {40}, values);
  EXPECT_TRUE(text.starts_with(
      "[       0  1000003  2000006  3000009  4000012  5000015  6000018  7000021\n  8000024"));
  EXPECT_TRUE(text.ends_with("38000114 39000117]"));
}

TEST(PrintValues, MoreThanAThousandAreSummarised) {
  EXPECT_EQ(printed<int64_t>(DType::i64, {1001}, counted<int64_t>(1001)),
            "[   0    1    2 ...  998  999 1000]");
  std::vector<float> values = counted<float>(2000);
  for (float& value : values) value /= 8;
  EXPECT_EQ(printed(DType::f32, {20, 100}, values),
            "[[0.00000e+00 1.25000e-01 2.50000e-01 ... 1.21250e+01 1.22500e+01\n  1.23750e+01]\n"
            " [1.25000e+01 1.26250e+01 1.27500e+01 ... 2.46250e+01 2.47500e+01\n  2.48750e+01]\n"
            " [2.50000e+01 2.51250e+01 2.52500e+01 ... 3.71250e+01 3.72500e+01\n  3.73750e+01]\n"
            " ...\n"
            " [2.12500e+02 2.12625e+02 2.12750e+02 ... 2.24625e+02 2.24750e+02\n  2.24875e+02]\n"
            " [2.25000e+02 2.25125e+02 2.25250e+02 ... 2.37125e+02 2.37250e+02\n  2.37375e+02]\n"
            " [2.37500e+02 2.37625e+02 2.37750e+02 ... 2.49625e+02 2.49750e+02\n  2.49875e+02]]");
}

TEST(PrintValues, Complex) {
  EXPECT_EQ(printed_as(DType::c64, {2}, {1, 2, -0.5, -1e-3}), "[ 1. +2.e+00j -0.5-1.e-03j]");
}

TEST(PrintValues, ScalarsAndEmptyTensors) {
  EXPECT_EQ(printed<float>(DType::f32, {}, {0.1F}), "0.1");
  EXPECT_EQ(printed<float>(DType::f32, {}, {99999992.0F}), "99999990.0");
  EXPECT_EQ(printed<double>(DType::f64, {}, {1e-5}), "1e-05");
  EXPECT_EQ(printed<uint8_t>(DType::boolean, {}, {1}), "True");
  EXPECT_EQ(printed_as(DType::c64, {}, {1, 2}), "(1+2j)");
  EXPECT_EQ(printed<float>(DType::f32, {2, 0}, {}), "[]");
}

// NumPy has no bf16: the fewest digits that mean this value, as for the types it has.
TEST(PrintValues, Bfloat16IsAsShortAsItsPrecision) {
  EXPECT_EQ(printed_as(DType::bf16, {2}, {0.1, 3.140625}), "[0.1  3.14]");
}

TEST(PrintValues, VeryManyDimensionsAreShownAsOne) {
  EXPECT_EQ(printed<int32_t>(DType::i32, std::vector<int64_t>(5000, 1), {7}),
            "(5000 dimensions, shown as one)\n[7]");
}

}  // namespace
}  // namespace assay
