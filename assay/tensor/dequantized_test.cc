#include "assay/tensor/dequantized.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
OperandPtr tensor(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {dtype, Shape{std::move(dims)}});
}

std::vector<float> values_of(const Operand& operand, int64_t first, int64_t count) {
  Scratch scratch;
  const auto block = operand.block(first, count, scratch);
  EXPECT_TRUE(block);
  if (!block) return {};
  EXPECT_EQ(block->dtype, DType::f32);
  std::vector<float> values(static_cast<size_t>(count));
  std::memcpy(values.data(), block->data, values.size() * sizeof(float));
  return values;
}

const OperandPtr kSmall = tensor<int8_t>(DType::i8, {2, 3}, {-128, 0, 127, 1, 2, 3});

TEST(Dequantized, TakesOneScaleAndOffsetForAll) {
  const auto real =
      dequantized(kSmall, tensor<float>(DType::f32, {1}, {0.5F}), tensor<int8_t>(DType::i8, {1}, {-28}));
  ASSERT_TRUE(real);
  EXPECT_EQ((*real)->meta, (TensorMeta{DType::f32, Shape{{2, 3}}}));
  EXPECT_THAT(values_of(**real, 0, 6), ElementsAre(-50, 14, 77.5, 14.5, 15, 15.5));
}

// The channel of an element does not depend on where a reader begins.
TEST(Dequantized, TakesFactorsOfTheLastDimension) {
  const auto real = dequantized(kSmall, tensor<float>(DType::f32, {3}, {1, 10, 100}),
                                tensor<int32_t>(DType::i32, {1, 3}, {0, 1, 2}));
  ASSERT_TRUE(real);
  EXPECT_THAT(values_of(**real, 0, 6), ElementsAre(-128, -10, 12500, 1, 10, 100));
  EXPECT_THAT(values_of(**real, 2, 3), ElementsAre(12500, 1, 10));
}

TEST(Dequantized, NeedsNoOffset) {
  const auto real = dequantized(kSmall, tensor<double>(DType::f64, {}, {2}), nullptr);
  ASSERT_TRUE(real);
  EXPECT_THAT(values_of(**real, 3, 3), ElementsAre(2, 4, 6));
}

TEST(Dequantized, RefusesFactorsThatDoNotFit) {
  const auto scale = tensor<float>(DType::f32, {2}, {1, 2});
  const auto wrong = dequantized(kSmall, scale, nullptr);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("the scale of f32 [2] does not fit 3 channels"));
  const auto offset = dequantized(kSmall, tensor<float>(DType::f32, {1}, {1}), scale);
  ASSERT_FALSE(offset);
  EXPECT_THAT(offset.error().message, HasSubstr("the offset of"));
  EXPECT_FALSE(dequantized(tensor<float>(DType::c64, {1}, {1, 2}), scale, nullptr));
  EXPECT_FALSE(
      dequantized(tensor<int32_t>(DType::i32, {1}, {1}), tensor<float>(DType::f32, {1}, {1}), nullptr));
}

TEST(Dequantized, TakesEmptyTensors) {
  const auto empty = tensor<int8_t>(DType::i8, {2, 0}, {});
  const auto real = dequantized(empty, tensor<float>(DType::f32, {0}, {}), nullptr);
  ASSERT_TRUE(real);
  EXPECT_EQ((*real)->meta.shape.count(), 0);
}

}  // namespace
}  // namespace assay
