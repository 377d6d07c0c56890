#include "assay/tensor/matrix_product.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

OperandPtr holding(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), {dtype, Shape{std::move(dims)}});
}

struct Product {
  std::vector<int64_t> dims;
  std::vector<double> values;
  DType dtype = DType::f64;
};

std::optional<Product> product(const OperandPtr& left, const OperandPtr& right) {
  const auto made = matrix_product(left, right, 1 << 20);
  if (!made) return std::nullopt;
  const Operand& operand = **made;
  Product out{operand.meta.shape.dims, {}, operand.meta.dtype};
  out.values.resize(static_cast<size_t>(operand.meta.shape.count()));
  const auto bytes = read_whole(operand, 1 << 20).value();
  to_f64(out.dtype, bytes.data(), std::ssize(out.values), out.values.data());
  return out;
}

const OperandPtr kSquare = holding(DType::f32, {2, 2}, {1, 2, 3, 4});

// All expected values are those of numpy.matmul.
TEST(MatrixProduct, MultipliesMatricesAndVectors) {
  const auto square = product(kSquare, holding(DType::f64, {2, 3}, {1, 0, 2, 0, 1, 3}));
  ASSERT_TRUE(square);
  EXPECT_EQ(square->dtype, DType::f64);
  EXPECT_THAT(square->dims, ElementsAre(2, 3));
  EXPECT_THAT(square->values, ElementsAre(1, 2, 8, 3, 4, 18));
  const auto row = product(holding(DType::bf16, {2}, {1, -1}), kSquare);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->dtype, DType::f32);
  EXPECT_THAT(row->dims, ElementsAre(2));
  EXPECT_THAT(row->values, ElementsAre(-2, -2));
  const auto column = product(kSquare, holding(DType::f16, {2}, {1, -1}));
  ASSERT_TRUE(column);
  EXPECT_THAT(column->values, ElementsAre(-1, -1));
}

TEST(MatrixProduct, RepeatsWhatOneSideHasOnce) {
  const auto stack = product(holding(DType::f32, {2, 1, 2}, {1, 0, 0, 1}), kSquare);
  ASSERT_TRUE(stack);
  EXPECT_THAT(stack->dims, ElementsAre(2, 1, 2));
  EXPECT_THAT(stack->values, ElementsAre(1, 2, 3, 4));
  const auto both =
      product(holding(DType::f32, {2, 1, 1, 1}, {2, 3}), holding(DType::f32, {2, 1, 1}, {5, 7}));
  ASSERT_TRUE(both);
  EXPECT_THAT(both->dims, ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(both->values, ElementsAre(10, 14, 15, 21));
}

TEST(MatrixProduct, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(product(kSquare, holding(DType::f32, {3}, {1, 2, 3})));
  EXPECT_FALSE(product(kSquare, holding(DType::f32, {}, {1})));
  EXPECT_FALSE(product(holding(DType::f32, {2, 1, 1}, {1, 2}), holding(DType::f32, {3, 1, 1}, {1, 2, 3})));
  EXPECT_FALSE(matrix_product(kSquare, kSquare, 31));  // four times eight bytes
  // A row of 8 bytes times a column: one number comes of it, but each side is held as f64.
  const OperandPtr bytes = holding(DType::u8, {8}, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_FALSE(matrix_product(bytes, bytes, 63));
  EXPECT_TRUE(matrix_product(bytes, bytes, 64));
}

}  // namespace
}  // namespace assay
