#include "capture/statistics.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace assay::capture {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Statistics of(DType dtype, const std::vector<T>& values, Wanted wanted = {true, true, true}) {
  const Bytes bytes = std::as_bytes(std::span(values));
  return measure(dtype, bytes, static_cast<int64_t>(bytes.size()) / size_of(dtype), wanted);
}

// By the definition of the type, not by our own conversions.
double of_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * static_cast<double>(kInf);
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

std::string line(const AtbTexts& t) { return t.max + " " + t.min + " " + t.mean + " " + t.norm; }

// What the original printed for these tensors.
TEST(AtbStatistics, AreTheTextsOfTheOriginal) {
  EXPECT_EQ(line(atb_texts(of<uint16_t>(DType::f16, {0x3c00, 0xc000, 0x7c00, 0x0001}))),
            "inf -2.000000 inf inf");
  EXPECT_EQ(line(atb_texts(of<uint16_t>(DType::bf16, {0x3f80, 0x4000, 0xc040, 0x4080}))),
            "4.000000 -3.000000 1.000000 5.477226");
  EXPECT_EQ(line(atb_texts(of<int8_t>(DType::i8, {-128, 127, 3, 0}))), "127 -128 0.500000 180.338570");
  EXPECT_EQ(line(atb_texts(of<float>(DType::f32, {kNan, 2}))), "2.000000 2.000000 nan nan");
  EXPECT_EQ(atb_texts(of<float>(DType::f32, {kNan})).max, "-340282346638528859811704183484516925440.000000");
  EXPECT_EQ(atb_texts(of<float>(DType::f32, {1e-8f})).max, "0.000000");
  EXPECT_EQ(line(atb_texts(of<float>(DType::c64, {3, 4, 1, 0}))),
            "(3.000000,4.000000) (1.000000,0.000000) (2.000000,2.000000) 5.099020");
  EXPECT_EQ(line(atb_texts(of<uint8_t>(DType::boolean, {1, 0}))), "N/A N/A N/A N/A");
}

// The second generation of the original squares in f32, and finds infinity here.
TEST(AtbStatistics, SquareInF64) {
  EXPECT_DOUBLE_EQ(of<float>(DType::f32, {3e30f, -4e30f}).norm(), std::hypot(double{3e30f}, double{4e30f}));
}

TEST(AtbStatistics, KeepTheSignOfTheFirstZero) {
  EXPECT_EQ(atb_texts(of<float>(DType::f32, {-1, -0.0f, 0.0f})).max, "-0.000000");
  EXPECT_EQ(atb_texts(of<float>(DType::f32, {5, 0.0f, -0.0f})).min, "0.000000");
}

TEST(FullStatistics, HaveAllDigits) {
  EXPECT_EQ(full_texts(of<double>(DType::f64, {1e-8, 1e-8})).max, "1e-08");
  EXPECT_EQ(full_texts(of<uint8_t>(DType::boolean, {1, 0})).max, "1");
  EXPECT_EQ(full_texts(of<uint64_t>(DType::u64, {~uint64_t{0}, 1})).max, "18446744073709551615");
  EXPECT_EQ(full_texts(of<int64_t>(DType::i64, {std::numeric_limits<int64_t>::min(), 1})).min,
            "-9223372036854775808");
}

// The vectors that msprobe gave.
TEST(Checksums, AreThoseOfMsprobe) {
  EXPECT_EQ(of<uint16_t>(DType::bf16, {0x3fc0, 0xc010, 0x4040}).crc32, 0xc4485f0a);
  EXPECT_EQ(of<float>(DType::f32, {0, 3, 1, 4, 2, 5}).crc32, 0x5fcfa77a);
  EXPECT_EQ(of<float>(DType::f32, {}).crc32, 0u);
  EXPECT_EQ(of<uint8_t>(DType::boolean, {1, 0}).crc32, 0x58c223be);
  EXPECT_EQ(of<int64_t>(DType::i64, {5}).crc32, 0x2dc2d10d);
  EXPECT_EQ(of<float>(DType::f32, {1, 2}).xor64, 0x400000003f800000);
  EXPECT_EQ(of<uint16_t>(DType::bf16, {0x3fc0, 0xc010, 0x4040}).xor64, 0x00004040c0103fc0);
  EXPECT_EQ(of<int64_t>(DType::i64, {1, 2, 3}).xor64, 0u);
}

TEST(Counts, TellWhatIsNotFinite) {
  const Statistics s = of<float>(DType::f32, {kNan, kInf, -kInf, 0, -0.0f, 1, kNan, 2, 3});
  EXPECT_EQ(s.nans, 2);
  EXPECT_EQ(s.infs, 2);
  EXPECT_EQ(s.zeros, 2);
  EXPECT_EQ(s.max.real, kInf);
  EXPECT_EQ(s.min.real, -kInf);
}

// A plain loop over what the elements mean, at lengths around groups and blocks.
template <class T>
void expect_as_plain(DType dtype, double (*meaning)(T)) {
  std::mt19937 random(7);
  for (const int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 4095, 4096, 4097, 8193, 20011}) {
    std::vector<T> values(static_cast<size_t>(n));
    for (T& value : values) {
      value = static_cast<T>(random());
      while (!std::isfinite(meaning(value))) value = static_cast<T>(random());
    }
    double max = meaning(values[0]), min = max, sum = 0, squares = 0;
    for (const T value : values) {
      const double x = meaning(value);
      max = std::max(max, x), min = std::min(min, x), sum += x, squares += x * x;
    }
    const Statistics s = of(dtype, values);
    const bool is_signed = info(dtype).kind == DTypeKind::integer;
    const auto value = [&](const Statistics::Extreme& e) {
      return is_real(dtype) ? e.real
             : is_signed    ? static_cast<double>(e.integer)
                            : static_cast<double>(e.natural);
    };
    EXPECT_EQ(value(s.max), max) << name(dtype) << ' ' << n;
    EXPECT_EQ(value(s.min), min) << name(dtype) << ' ' << n;
    EXPECT_NEAR(s.sum, sum, 1e-12 * std::sqrt(squares * static_cast<double>(n)) + 1e-300)
        << name(dtype) << ' ' << n;
    EXPECT_NEAR(s.sum_squares, squares, 1e-12 * squares) << name(dtype) << ' ' << n;
  }
}

// With the instructions of every kind of CPU that this one has.
class Kernels : public testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override { use_at_most(GetParam()); }
  void TearDown() override { use_at_most(Instructions::avx512); }
};
INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Values(Instructions::plain, Instructions::avx2, Instructions::avx512));

TEST_P(Kernels, AgreeWithAPlainLoopForEveryType) {
  expect_as_plain<uint16_t>(DType::f16, of_half);
  expect_as_plain<uint16_t>(DType::bf16, [](uint16_t x) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(x) << 16));
  });
  expect_as_plain<uint32_t>(DType::f32,
                            [](uint32_t x) { return static_cast<double>(std::bit_cast<float>(x)); });
  expect_as_plain<int8_t>(DType::i8, [](int8_t x) { return static_cast<double>(x); });
  expect_as_plain<uint8_t>(DType::u8, [](uint8_t x) { return static_cast<double>(x); });
  expect_as_plain<int16_t>(DType::i16, [](int16_t x) { return static_cast<double>(x); });
  expect_as_plain<uint16_t>(DType::u16, [](uint16_t x) { return static_cast<double>(x); });
  expect_as_plain<int32_t>(DType::i32, [](int32_t x) { return static_cast<double>(x); });
  expect_as_plain<uint32_t>(DType::u32, [](uint32_t x) { return static_cast<double>(x); });
  expect_as_plain<int64_t>(DType::i64, [](int64_t x) { return static_cast<double>(x); });
  expect_as_plain<uint64_t>(DType::u64, [](uint64_t x) { return static_cast<double>(x); });
  expect_as_plain<double>(DType::f64, [](double x) { return x; });
}

TEST(Statistics, ReadTypesOfAFewBits) {
  const std::vector<uint8_t> packed = {0x7F, 0x80};  // -1, 7, 0, -8: the low half of a byte first
  const Statistics s = measure(DType::i4, std::as_bytes(std::span(packed)), 4, {});
  EXPECT_EQ(s.max.integer, 7);
  EXPECT_EQ(s.min.integer, -8);
  EXPECT_EQ(s.sum, -2);
  EXPECT_EQ(s.zeros, 1);
  EXPECT_EQ(of<uint8_t>(DType::f8e4m3fn, {0x38, 0xB8}).max.real, 1);
}

// A register is full of them, and some are left.
TEST_P(Kernels, WidenEveryHalf) {
  constexpr int64_t kCount = 70;
  for (const DType dtype : {DType::f16, DType::bf16})
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const Statistics s = of(dtype, std::vector<uint16_t>(kCount, static_cast<uint16_t>(bits)));
      const double expected = dtype == DType::f16 ? of_half(static_cast<uint16_t>(bits))
                                                  : double{std::bit_cast<float>(bits << 16)};
      ASSERT_EQ(s.nans, std::isnan(expected) ? kCount : 0) << bits;
      ASSERT_EQ(s.infs, std::isinf(expected) ? kCount : 0) << bits;
      ASSERT_EQ(s.zeros, expected == 0 ? kCount : 0) << bits;
      if (!std::isfinite(expected)) continue;  // as std::min(largest number, infinity) has it
      ASSERT_EQ(s.max.real, expected) << bits;
      ASSERT_EQ(s.min.real, expected) << bits;
      ASSERT_EQ(std::signbit(s.max.real), std::signbit(expected)) << bits;
      ASSERT_DOUBLE_EQ(s.sum, kCount * expected) << bits;
      ASSERT_DOUBLE_EQ(s.sum_squares, kCount * expected * expected) << bits;
    }
}

// Wherever in a register it lies, and beside numbers of either sign.
TEST_P(Kernels, FindOneOddHalfAnywhere) {
  for (const uint16_t odd : {0x7C00, 0xFC00, 0x7C01, 0xFE00})
    for (size_t at = 0; at < 100; ++at) {
      std::vector<uint16_t> halves(100);
      for (size_t i = 0; i < halves.size(); ++i)
        halves[i] = static_cast<uint16_t>(i % 2 == 0 ? 0x3C00 : 0xC000);
      halves[at] = odd;
      const bool is_nan = (odd & 0x3FF) != 0, is_negative = odd >= 0x8000;
      const Statistics s = of(DType::f16, halves);
      EXPECT_EQ(s.nans, is_nan ? 1 : 0) << odd << ' ' << at;
      EXPECT_EQ(s.infs, is_nan ? 0 : 1) << odd << ' ' << at;
      EXPECT_EQ(s.max.real, !is_nan && !is_negative ? kInf : 1) << odd << ' ' << at;
      EXPECT_EQ(s.min.real, !is_nan && is_negative ? -kInf : -2) << odd << ' ' << at;
    }
}

}  // namespace
}  // namespace assay::capture
