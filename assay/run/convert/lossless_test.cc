#include "assay/run/convert/lossless.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>

namespace assay {
namespace {

template <class T>
OperandPtr tensor(DType dtype, const std::vector<T>& values) {
  const auto source = std::as_bytes(std::span(values));
  std::vector<std::byte> bytes(source.begin(), source.end());
  return dense_in_memory(std::move(bytes), {dtype, Shape{{std::ssize(values)}}});
}

TEST(Lossless, RealsByTheirValues) {
  EXPECT_TRUE(is_lossless(tensor<float>(DType::f32, {1, -0.0F, 0.5F, 65504}), DType::f16).value());
  EXPECT_FALSE(is_lossless(tensor<float>(DType::f32, {1, 0.1F}), DType::f16).value());
  EXPECT_FALSE(is_lossless(tensor<float>(DType::f32, {1e30F}), DType::f16).value());  // becomes infinite
  EXPECT_TRUE(is_lossless(tensor<float>(DType::f32, {1e30F, 0.1F}), DType::f64).value());
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_lossless(tensor<float>(DType::f32, {inf, -inf, nan}), DType::bf16).value());
  EXPECT_FALSE(is_lossless(tensor<float>(DType::f32, {1.5F}), DType::i32).value());
}

TEST(Lossless, WholeNumbersThatAreClippedAtBothEnds) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kBig = int64_t{1} << 53;
  EXPECT_TRUE(is_lossless(tensor<int64_t>(DType::i64, {kBig, -kBig, 3}), DType::f64).value());
  EXPECT_FALSE(is_lossless(tensor<int64_t>(DType::i64, {kBig + 1}), DType::f64).value());
  for (const DType to : {DType::f64, DType::u64, DType::i32})
    EXPECT_FALSE(is_lossless(tensor<int64_t>(DType::i64, {kMost}), to).value());
  EXPECT_FALSE(is_lossless(tensor<int32_t>(DType::i32, {2147483647}), DType::f32).value());
  EXPECT_FALSE(is_lossless(tensor<int32_t>(DType::i32, {-1}), DType::u32).value());
  EXPECT_TRUE(is_lossless(tensor<int32_t>(DType::i32, {-128, 127}), DType::i8).value());
  EXPECT_TRUE(is_lossless(tensor<uint8_t>(DType::boolean, {0, 1}), DType::u8).value());
  EXPECT_TRUE(is_lossless(tensor<int64_t>(DType::i64, {}), DType::i8).value());
}

TEST(Lossless, ComplexNumbersStayComplex) {
  EXPECT_TRUE(is_lossless(tensor<float>(DType::c64, {}), DType::c128).value());
  EXPECT_FALSE(is_lossless(tensor<float>(DType::f32, {1}), DType::c64).value());
}

}  // namespace
}  // namespace assay
