#include "assay/tensor/affine.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperandPtr holding(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), {dtype, Shape{{std::ssize(values)}}});
}

std::vector<double> values_of(const Operand& operand) {
  std::vector<double> values(static_cast<size_t>(operand.meta.shape.count()));
  const auto bytes = read_whole(operand, 1 << 20).value();
  to_f64(operand.meta.dtype, bytes.data(), std::ssize(values), values.data());
  return values;
}

TEST(Affine, MakesWeightsReal) {
  const auto real = affine(holding(DType::i8, {-128, 127, 0}), holding(DType::f32, {1, -1, 0.5}),
                           holding(DType::f32, {0.5, 0.25, 2}));
  ASSERT_TRUE(real);
  EXPECT_EQ((*real)->meta.dtype, DType::f32);
  EXPECT_THAT(values_of(**real), ElementsAre(-64.5, 32, -1));
}

// bf16 has 8 bits: 127 + 1/2 is 128 (127.5 rounds up to it), and 128 · 0.0101… stays in bf16 too.
TEST(Affine, RoundsBothStepsToTheTypeOfTheScale) {
  const auto real =
      affine(holding(DType::i8, {127}), holding(DType::bf16, {-0.75}), holding(DType::bf16, {3}));
  ASSERT_TRUE(real);
  EXPECT_EQ((*real)->meta.dtype, DType::bf16);
  EXPECT_THAT(values_of(**real), ElementsAre(384));
}

// What torch.result_type says.
TEST(Affine, HasTheWiderType) {
  const auto type = [](DType offset, DType scale) {
    return affine(holding(DType::i8, {1}), holding(offset, {0}), holding(scale, {1})).value()->meta.dtype;
  };
  EXPECT_EQ(type(DType::f32, DType::f16), DType::f32);
  EXPECT_EQ(type(DType::f16, DType::f64), DType::f64);
  EXPECT_EQ(type(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(type(DType::i8, DType::f16), DType::f16);
  EXPECT_EQ(type(DType::i32, DType::i8), DType::f32);
}

TEST(Affine, ReadsAnyPart) {
  std::vector<double> weights(3000), offsets(3000, 1), scales(3000, 0.5);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 100);
  const auto real =
      affine(holding(DType::i8, weights), holding(DType::f32, offsets), holding(DType::f32, scales));
  ASSERT_TRUE(real);
  Scratch scratch;
  const auto block = (*real)->block(1020, 10, scratch);
  ASSERT_TRUE(block);
  double values[10];
  to_f64(block->dtype, block->data, 10, values);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(values[i], (weights[1020 + static_cast<size_t>(i)] - 1) * 0.5);
}

TEST(Affine, RefusesWhatDoesNotFit) {
  const auto other =
      affine(holding(DType::i8, {1, 2}), holding(DType::f32, {1}), holding(DType::f32, {1, 1}));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("shape [1] does not fit weights of shape [2]"));
  EXPECT_FALSE(affine(holding(DType::c64, {}), holding(DType::f32, {}), holding(DType::f32, {})));
}

}  // namespace
}  // namespace assay
