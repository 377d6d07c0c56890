#include "assay/tensor/extremes.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

OperandPtr tensor_of(DType dtype, const std::vector<double>& parts) {
  const TensorMeta meta{dtype, Shape{{std::ssize(parts) / components(dtype)}}};
  std::vector<std::byte> bytes(static_cast<size_t>(meta.byte_size()));
  from_f64(dtype, parts.data(), std::ssize(parts), bytes.data());
  return dense_in_memory(std::move(bytes), meta);
}

std::vector<double> both(const Extremes& found) {
  std::vector<double> values(static_cast<size_t>(2 * components(found.dtype)));
  to_f64(found.dtype, found.min.data(), components(found.dtype), values.data());
  to_f64(found.dtype, found.max.data(), components(found.dtype), values.data() + components(found.dtype));
  return values;
}

TEST(Extremes, OfRealsIntegersAndTruthValues) {
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::f16, {1, -2, 0.5}))), (std::vector<double>{-2, 1}));
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::bf16, {3}))), (std::vector<double>{3, 3}));
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::u8, {7, 255, 9}))), (std::vector<double>{7, 255}));
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::boolean, {1, 1}))), (std::vector<double>{1, 1}));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::f32, {1, -inf, inf}))), (std::vector<double>{-inf, inf}));
}

TEST(Extremes, ANanIsBoth) {
  for (const double value : both(*gather_extremes(*tensor_of(DType::f64, {5, kNan, 7}))))
    EXPECT_TRUE(std::isnan(value));
}

TEST(Extremes, OfIntegersThatNoDoubleHolds) {
  const std::vector<int64_t> values = {9007199254740993, -9007199254740995, 9007199254740992};
  std::vector<std::byte> bytes(values.size() * sizeof values[0]);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const auto found = gather_extremes(*dense_in_memory(bytes, {DType::i64, Shape{{3}}}));
  ASSERT_TRUE(found);
  int64_t min = 0, max = 0;
  std::memcpy(&min, found->min.data(), sizeof min);
  std::memcpy(&max, found->max.data(), sizeof max);
  EXPECT_EQ(min, -9007199254740995);
  EXPECT_EQ(max, 9007199254740993);
}

TEST(Extremes, OfComplexNumbersByRealThenImaginaryPart) {
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::c64, {1, 5, 1, -5, 0, 9, 1, 7}))),
            (std::vector<double>{0, 9, 1, 7}));
  const auto found = both(*gather_extremes(*tensor_of(DType::c128, {1, 5, 2, kNan})));
  EXPECT_EQ(found[0], 2);
  EXPECT_TRUE(std::isnan(found[1]) && std::isnan(found[3]));
}

TEST(Extremes, OfNothing) {
  const auto found = gather_extremes(*tensor_of(DType::f32, {}));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_empty);
}

TEST(Extremes, AcrossBlocks) {
  std::vector<double> values(static_cast<size_t>(kBlockElements * 2 + 3), 1);
  values[10] = -4;
  values.back() = 9;
  EXPECT_EQ(both(*gather_extremes(*tensor_of(DType::i32, values))), (std::vector<double>{-4, 9}));
}

}  // namespace
}  // namespace assay
