#include "assay/metric/number_range.h"

#include "assay/tensor/dense.h"
#include "assay/tensor/dtype_limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay {
namespace {

constexpr double kPlusInf = HUGE_VAL;
const double kNotANumber = std::nan("");

NumberRange range_of(DType dtype, const std::vector<double>& values) {
  const int64_t parts = components(dtype);
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  const auto tensor = dense_in_memory(std::move(bytes), {dtype, Shape{{std::ssize(values) / parts}}});
  Scratch scratch;
  return gather_range(*tensor, 0, tensor->meta.shape.count(), scratch).value();
}

TEST(NumberRange, CountsByHand) {
  const NumberRange range = range_of(DType::f16, {0, -0.0, 1, 65504, -32752, 32736, 0x1p-24, -0x1p-15,
                                                  kNotANumber, kPlusInf, -kPlusInf, -kPlusInf});
  EXPECT_EQ(range.count, 12);
  EXPECT_EQ(range.nans, 1);
  EXPECT_EQ(range.infs(), 3);
  EXPECT_EQ(range.minus_infs, 2);
  EXPECT_EQ(range.near_max, 2);  // 65504 and its half; 32736 is the number below that
  EXPECT_EQ(range.subnormal, 2);
  EXPECT_EQ(range.zeros, 2);
  EXPECT_EQ(range.max, 65504);
  EXPECT_EQ(range.min, -32752);
  EXPECT_EQ(range.of_type_max(), 1);
  EXPECT_EQ(range.first_nonfinite, 8);
}

TEST(NumberRange, SeesInfinitiesOfEveryTypeThatHasThem) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e5m2, DType::hif8}) {
    const NumberRange range = range_of(dtype, {1, kPlusInf, 2, -kPlusInf});
    EXPECT_EQ(range.infs(), 2) << name(dtype);
    EXPECT_EQ(range.minus_infs, 1) << name(dtype);
    EXPECT_EQ(range.first_nonfinite, 1) << name(dtype);
    EXPECT_EQ(range.max, 2) << name(dtype);
  }
}

// The bits of a bf16 infinity, read as f16, are a NaN; those of 2.7e36, an infinity.
TEST(NumberRange, TakesBf16ForWhatItIs) {
  EXPECT_EQ(range_of(DType::bf16, {kPlusInf}).infs(), 1);
  const NumberRange large = range_of(DType::bf16, {0x1p121});
  EXPECT_TRUE(large.is_finite());
  EXPECT_EQ(large.max, 0x1p121);
}

TEST(NumberRange, SeesNanOfEveryType) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e5m2, DType::f8e4m3fn, DType::f8e4m3fnuz})
    EXPECT_EQ(range_of(dtype, {1, kNotANumber}).nans, 1) << name(dtype);
}

TEST(NumberRange, TakesComplexByComponents) {
  const NumberRange range = range_of(DType::c64, {1, 2, 3, kNotANumber});
  EXPECT_EQ(range.count, 4);
  EXPECT_EQ(range.first_nonfinite, 3);
}

TEST(NumberRange, OfWholeNumbersAreEndsAndZeros) {
  const NumberRange range = range_of(DType::i8, {-128, 0, 127});
  EXPECT_EQ(range.min, -128);
  EXPECT_EQ(range.max, 127);
  EXPECT_EQ(range.zeros, 1);
  EXPECT_EQ(range.near_max, 0);
  EXPECT_TRUE(std::isnan(range.of_type_max()));
}

TEST(NumberRange, OfNothingFiniteHasNoEnds) {
  const NumberRange range = range_of(DType::f32, {kNotANumber, kPlusInf});
  EXPECT_TRUE(std::isnan(range.min));
  EXPECT_TRUE(std::isnan(range.max));
}

// Lengths around the tile and the block, against the definition.
TEST(NumberRange, AgreesWithPlainLoopAtAwkwardLengths) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const int64_t n : {1, 15, 4095, 4096, 4097, 70000}) {
      std::vector<double> values;
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t pick = random() % 16;
        values.push_back(
            pick == 0   ? kNotANumber
            : pick == 1 ? kPlusInf
            : pick == 2
                ? 0
                : std::ldexp(1.0 - 2.0 * (random() % 2),
                             static_cast<int>(random() % 60) - 30 +
                                 (random() % 8 == 0 ? std::ilogb(limits_of(dtype).largest) - 29 : 0)));
      }
      std::vector<double> rounded(values.size());
      std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
      from_f64(dtype, values.data(), n, bytes.data());
      to_f64(dtype, bytes.data(), n, rounded.data());
      const NumberRange range = range_of(dtype, values);
      int64_t nans = 0, infs = 0, zeros = 0, near_max = 0, subnormal = 0;
      const RealLimits limits = limits_of(dtype);
      double min = kPlusInf, max = -kPlusInf;
      for (const double value : rounded) {
        nans += std::isnan(value);
        infs += std::isinf(value);
        zeros += value == 0;
        if (!std::isfinite(value)) continue;
        near_max += std::abs(value) >= limits.largest / 2;
        subnormal += value != 0 && std::abs(value) < limits.least_normal;
        min = std::min(min, value);
        max = std::max(max, value);
      }
      EXPECT_EQ(range.nans, nans);
      EXPECT_EQ(range.infs(), infs);
      EXPECT_EQ(range.zeros, zeros);
      EXPECT_EQ(range.near_max, near_max);
      EXPECT_EQ(range.subnormal, subnormal);
      if (nans + infs < n) {
        EXPECT_EQ(range.min, min) << name(dtype) << " " << n;
        EXPECT_EQ(range.max, max) << name(dtype) << " " << n;
      }
    }
}

}  // namespace
}  // namespace assay
