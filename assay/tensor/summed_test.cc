#include "assay/tensor/summed.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <cstring>

namespace assay {
namespace {

OperandPtr tensor(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{std::ssize(values)}}});
}

// In f64: the sum of two halves is not rounded to one.
TEST(Summed, AddsUpWithoutRounding) {
  const auto sum =
      summed({tensor(DType::f16, {2048, 1}), tensor(DType::f32, {1, -1}), tensor(DType::i8, {3, 5})});
  ASSERT_TRUE(sum);
  EXPECT_EQ((*sum)->meta.dtype, DType::f64);
  const auto bytes = read_whole(**sum, 16).value();
  double values[2];
  std::memcpy(values, bytes.data(), sizeof values);
  EXPECT_EQ(values[0], 2052);
  EXPECT_EQ(values[1], 5);
}

TEST(Summed, ReadsAnyRunOfALongTensor) {
  std::vector<double> counting(5000);
  for (size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<double>(i);
  const auto sum = summed({tensor(DType::f32, counting), tensor(DType::f32, counting)});
  ASSERT_TRUE(sum);
  Scratch scratch;
  const auto block = (*sum)->block(1023, 3000, scratch);
  ASSERT_TRUE(block);
  for (int64_t i = 0; i < 3000; ++i) {
    double value;
    std::memcpy(&value, block->data + i * 8, 8);
    ASSERT_EQ(value, 2.0 * static_cast<double>(1023 + i));
  }
}

TEST(Summed, RefusesOtherShapesAndComplexNumbers) {
  EXPECT_FALSE(summed({tensor(DType::f32, {1}), tensor(DType::f32, {1, 2})}));
  EXPECT_FALSE(summed({tensor(DType::c64, {})}));
}

}  // namespace
}  // namespace assay
