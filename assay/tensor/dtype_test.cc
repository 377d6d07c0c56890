#include "assay/tensor/dtype.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Values of all codes as ml_dtypes has them; tests/data/dtype/README.md.
std::vector<double> golden_values(std::string_view type) {
  std::ifstream file(std::string(ASSAY_TEST_DATA "/dtype/") + std::string(type) + ".txt");
  std::vector<double> values;
  for (std::string line; std::getline(file, line);) values.push_back(std::strtod(line.c_str(), nullptr));
  return values;
}

template <class Bits>
double decode_one(DType dtype, Bits bits) {
  double value = 0;
  to_f64(dtype, reinterpret_cast<const std::byte*>(&bits), 1, &value);
  return value;
}

template <class Bits = uint8_t>
Bits encode_one(DType dtype, double value) {
  Bits bits = 0;
  from_f64(dtype, &value, 1, reinterpret_cast<std::byte*>(&bits));
  return bits;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::vector<std::byte> all_bytes() {
  std::vector<std::byte> bytes(256);
  for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

const DType kGoldenTypes[] = {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz,
                              DType::f8e8m0,   DType::f6e3m2, DType::f6e2m3,     DType::f4e2m1,
                              DType::i4,       DType::u4,     DType::i2,         DType::u2};

TEST(DType, SmallTypesDecodeAsInMlDtypes) {
  for (const DType dtype : kGoldenTypes) {
    const std::vector<double> golden = golden_values(name(dtype));
    ASSERT_EQ(std::ssize(golden), int64_t{1} << info(dtype).storage_bits) << name(dtype);
    const auto bytes = all_bytes();
    std::vector<double> wide(256);
    std::vector<float> narrow(256);
    to_f64(dtype, bytes.data(), 256, wide.data());
    to_f32(dtype, bytes.data(), 256, narrow.data());
    for (size_t code = 0; code < 256; ++code) {  // codes above the bits of the type wrap around
      EXPECT_TRUE(same(wide[code], golden[code % golden.size()])) << name(dtype) << " " << code;
      EXPECT_TRUE(same(static_cast<double>(narrow[code]), golden[code % golden.size()]))
          << name(dtype) << " " << code;
    }
  }
}

TEST(DType, RealsOfOneByteRoundToTheNearest) {
  for (const DType dtype : kGoldenTypes) {
    if (!is_real(dtype)) continue;
    const std::vector<double> golden = golden_values(name(dtype));
    std::vector<double> finite;
    for (const double v : golden)
      if (std::isfinite(v)) finite.push_back(v);
    std::sort(finite.begin(), finite.end());
    for (size_t i = 0; i + 1 < finite.size(); ++i) {
      const double low = finite[i], high = finite[i + 1], middle = (low + high) / 2;
      const auto encoded = [&](double v) { return decode_one(dtype, encode_one(dtype, v)); };
      EXPECT_EQ(encoded(low), low) << name(dtype);
      EXPECT_EQ(encoded(high), high) << name(dtype);
      EXPECT_EQ(encoded(std::nextafter(middle, low)), low) << name(dtype) << " " << middle;
      EXPECT_EQ(encoded(std::nextafter(middle, high)), high) << name(dtype) << " " << middle;
      if (dtype == DType::f8e8m0) {
        EXPECT_EQ(encoded(middle), high);
      } else if (low != high) {  // equal: -0 and 0
        EXPECT_EQ(encode_one(dtype, middle) & 1, 0) << name(dtype) << " " << middle;
      }
    }
  }
}

TEST(DType, EveryCodeOfAnIntegerSurvivesTheRoundTrip) {
  for (const DType dtype : {DType::i8, DType::i4, DType::i2, DType::u8, DType::u4, DType::u2, DType::u1}) {
    for (int code = 0; code < 1 << info(dtype).storage_bits; ++code) {
      const double value = decode_one(dtype, static_cast<uint8_t>(code));
      EXPECT_EQ(decode_one(dtype, encode_one(dtype, value)), value) << name(dtype) << " " << code;
    }
  }
}

// Codes that ml_dtypes gives for these values (e8m0 of zero and NaN of f6, f4 excepted; docs/dtypes.md).
TEST(DType, OverflowFollowsTheRuleOfTheType) {
  EXPECT_EQ(encode_one(DType::f8e4m3fn, 464), 0x7E);
  EXPECT_EQ(encode_one(DType::f8e4m3fn, 465), 0x7F);
  EXPECT_EQ(encode_one(DType::f8e4m3fn, -kInf), 0xFF);
  EXPECT_EQ(encode_one(DType::f8e4m3fn, kNan), 0x7F);
  EXPECT_EQ(encode_one(DType::f8e5m2, 61439), 0x7B);
  EXPECT_EQ(encode_one(DType::f8e5m2, 61440), 0x7C);
  EXPECT_EQ(encode_one(DType::f8e5m2, -1e30), 0xFC);
  EXPECT_EQ(encode_one(DType::f8e5m2, kNan), 0x7E);
  EXPECT_EQ(encode_one(DType::f8e4m3fnuz, 247), 0x7F);
  EXPECT_EQ(encode_one(DType::f8e4m3fnuz, 248), 0x80);
  EXPECT_EQ(encode_one(DType::f8e4m3fnuz, -0.0), 0x00);
  EXPECT_EQ(encode_one(DType::f8e5m2fnuz, 61439), 0x7F);
  EXPECT_EQ(encode_one(DType::f8e5m2fnuz, 61440), 0x80);
  EXPECT_EQ(encode_one(DType::f6e3m2, 1e30), 0x1F);
  EXPECT_EQ(encode_one(DType::f6e2m3, -kInf), 0x3F);
  EXPECT_EQ(encode_one(DType::f4e2m1, 7.75), 0x07);
  EXPECT_EQ(encode_one(DType::f4e2m1, -0.0), 0x08);
  EXPECT_EQ(encode_one(DType::f4e2m1, kNan), 0x00);
  EXPECT_EQ(encode_one(DType::f8e8m0, 3.0), 0x81);
  EXPECT_EQ(encode_one(DType::f8e8m0, 1.4 * 0x1p127), 0xFE);
  EXPECT_EQ(encode_one(DType::f8e8m0, 1.5 * 0x1p127), 0xFF);
  EXPECT_EQ(encode_one(DType::f8e8m0, -1.0), 0xFF);
  EXPECT_EQ(encode_one(DType::f8e8m0, 0.0), 0x00);
  EXPECT_EQ(encode_one(DType::f8e8m0, 1e-40), 0x00);
}

TEST(DType, HiFloat8FollowsItsPrefixes) {
  const std::pair<int, double> vectors[] = {
      {0x00, 0},        {0x80, kNan},    {0x6F, kInf},          {0xEF, -kInf}, {0x20, 4},
      {0x28, 8},        {0x40, 16},      {0x50, 0.0625},        {0x60, 256},   {0x6E, 32768},
      {0x70, 0x1p-8},   {0x01, 0x1p-22}, {0x07, 0x1p-16},       {0x08, 1},     {0x0F, 1.875},
      {0x10, 2},        {0x18, 0.5},     {0x1F, 0.9375},        {0x2F, 15},    {0x37, 0.46875},
      {0x3F, 0.234375}, {0x7E, 0x1p-15}, {0x7F, 1.5 * 0x1p-15}, {0x4B, 112},   {0x88, -1},
      {0x81, -0x1p-22}, {0xEE, -32768}};
  for (const auto& [code, value] : vectors)
    EXPECT_TRUE(same(decode_one(DType::hif8, static_cast<uint8_t>(code)), value)) << code;
}

TEST(DType, HiFloat8HasEveryValueOnceAndRoundsToIt) {
  std::vector<double> values;
  for (int code = 0; code < 256; ++code) {
    const double value = decode_one(DType::hif8, static_cast<uint8_t>(code));
    EXPECT_EQ(encode_one(DType::hif8, value), code);
    if (std::isfinite(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
  EXPECT_EQ(std::ssize(values), 253);
  EXPECT_EQ(encode_one(DType::hif8, 40960), 0x6E);  // half way to the place of infinity
  EXPECT_EQ(encode_one(DType::hif8, 40961), 0x6F);
  EXPECT_EQ(encode_one(DType::hif8, -1e9), 0xEF);
  EXPECT_EQ(encode_one(DType::hif8, -0.0), 0x00);
  EXPECT_EQ(encode_one(DType::hif8, -1e-9), 0x00);
  EXPECT_EQ(encode_one(DType::hif8, 1.0625), 0x08);
  EXPECT_EQ(encode_one(DType::hif8, 1.1875), 0x0A);
}

TEST(DType, Float4E1M2CountsInQuarters) {
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(decode_one(DType::f4e1m2, static_cast<uint8_t>(code)), code * 0.25);
    EXPECT_EQ(decode_one(DType::f4e1m2, static_cast<uint8_t>(code | 8)), code * -0.25);
    EXPECT_EQ(encode_one(DType::f4e1m2, code * -0.25), code | 8);
  }
  EXPECT_EQ(encode_one(DType::f4e1m2, 9.0), 7);
  EXPECT_EQ(encode_one(DType::f4e1m2, 0.375), 2);
}

TEST(DType, HalvesDecodeByTheirFields) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = mantissa == 0 ? kInf : kNan;
    if (bits & 0x8000) value = -value;
    const auto half = static_cast<uint16_t>(bits);
    ASSERT_TRUE(same(static_cast<double>(f16_to_f32(half)), value)) << bits;
    ASSERT_TRUE(same(decode_one(DType::f16, half), value)) << bits;
    if (!std::isnan(value)) {
      ASSERT_EQ(encode_one<uint16_t>(DType::f16, value), bits);
      ASSERT_EQ(f32_to_f16(static_cast<float>(value)), bits);
    }
    const float wide = bf16_to_f32(half);
    ASSERT_EQ(std::bit_cast<uint32_t>(wide), bits << 16);
    ASSERT_TRUE(same(decode_one(DType::bf16, half), static_cast<double>(wide)));
    if (!std::isnan(wide)) {
      ASSERT_EQ(f32_to_bf16(wide), bits);
    } else {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide))));
    }
  }
}

// Between two neighbours the compiler's own conversion (f16), or the definition (bf16), says where the tie
// goes.
TEST(DType, HalvesRoundOnceFromDouble) {
  __extension__ using Half = _Float16;
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const double low = decode_one(DType::f16, static_cast<uint16_t>(bits));
    const double high = bits == 0x7BFF ? 65536 : decode_one(DType::f16, static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    for (const double v : {std::nextafter(middle, low), middle, std::nextafter(middle, high), -middle})
      ASSERT_EQ(encode_one<uint16_t>(DType::f16, v), std::bit_cast<uint16_t>(static_cast<Half>(v))) << v;
  }
  for (unsigned bits = 0; bits < 0x7F80; ++bits) {
    const double low = decode_one(DType::bf16, static_cast<uint16_t>(bits));
    const double high = bits == 0x7F7F ? 0x1p128 : decode_one(DType::bf16, static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    ASSERT_EQ(encode_one<uint16_t>(DType::bf16, std::nextafter(middle, low)), bits);
    ASSERT_EQ(encode_one<uint16_t>(DType::bf16, middle), bits + (bits & 1));
    ASSERT_EQ(encode_one<uint16_t>(DType::bf16, std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(encode_one<uint16_t>(DType::f16, kInf), 0x7C00);
  EXPECT_EQ(encode_one<uint16_t>(DType::bf16, -1e300), 0xFF80);
  EXPECT_EQ(encode_one<uint16_t>(DType::f16, -1e-300), 0x8000);
}

TEST(DType, IntegersTruncateAndSaturate) {
  EXPECT_EQ(encode_one<int32_t>(DType::i32, -1.9), -1);
  EXPECT_EQ(encode_one<int32_t>(DType::i32, 1e10), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(encode_one<int32_t>(DType::i32, -kInf), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(encode_one<int64_t>(DType::i64, 0x1p63), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(encode_one<int64_t>(DType::i64, -0x1p63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(encode_one<int64_t>(DType::i64, -0x1p70), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(encode_one<int64_t>(DType::i64, kNan), 0);
  EXPECT_EQ(encode_one<uint64_t>(DType::u64, 0x1p64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(encode_one<uint64_t>(DType::u64, 0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(encode_one<uint64_t>(DType::u64, -1.0), 0u);
  EXPECT_EQ(encode_one<uint32_t>(DType::u32, 4294967295.5), 4294967295u);
  EXPECT_EQ(encode_one<int16_t>(DType::i16, -40000.0), -32768);
  EXPECT_EQ(encode_one<uint16_t>(DType::u16, 70000.0), 65535);
  EXPECT_EQ(encode_one<int8_t>(DType::i8, 127.9), 127);
  EXPECT_EQ(encode_one<int8_t>(DType::i4, -9.0), -8);
  EXPECT_EQ(encode_one<int8_t>(DType::i2, 5.0), 1);
  EXPECT_EQ(encode_one(DType::u4, 99.0), 15);
  EXPECT_EQ(encode_one(DType::u1, 7.0), 1);
}

TEST(DType, AnyByteButZeroIsTrue) {
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(decode_one(DType::boolean, static_cast<uint8_t>(byte)), byte == 0 ? 0.0 : 1.0);
  EXPECT_EQ(encode_one(DType::boolean, 0.1), 1);
  EXPECT_EQ(encode_one(DType::boolean, kNan), 1);
  EXPECT_EQ(encode_one(DType::boolean, -0.0), 0);
}

TEST(DType, WideIntegersAndComplexComponents) {
  EXPECT_EQ(decode_one(DType::i64, std::numeric_limits<int64_t>::min()), -0x1p63);
  EXPECT_EQ(decode_one(DType::u64, ~uint64_t{0}), 0x1p64);
  EXPECT_EQ(decode_one(DType::u64, (uint64_t{1} << 53) + 1), 0x1p53);  // tie to even
  EXPECT_EQ(decode_one(DType::u32, ~uint32_t{0}), 4294967295.0);
  EXPECT_EQ(decode_one(DType::i16, int16_t{-3}), -3.0);
  EXPECT_EQ(decode_one(DType::u16, uint16_t{65535}), 65535.0);
  const float pair[2] = {1.5f, -2.5f};
  float out[2];
  to_f32(DType::c64, reinterpret_cast<const std::byte*>(pair), 2, out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(out[1], -2.5f);
  EXPECT_EQ(component(DType::c32), DType::f16);
  EXPECT_EQ(component(DType::c128), DType::f64);
  EXPECT_EQ(component(DType::i4), DType::i4);
}

TEST(DType, NamesOfManyLands) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(find_dtype(name(dtype)), dtype) << name(dtype);
    EXPECT_EQ(find_dtype(info(dtype).long_name), dtype) << name(dtype);
    EXPECT_EQ(info(dtype).size * 8 == info(dtype).storage_bits, info(dtype).storage_bits >= 8) << name(dtype);
  }
  EXPECT_EQ(find_dtype("torch.float32"), DType::f32);
  EXPECT_EQ(find_dtype("Float32"), DType::f32);
  EXPECT_EQ(find_dtype("half"), DType::f16);
  EXPECT_EQ(find_dtype("torch.bfloat16"), DType::bf16);
  EXPECT_EQ(find_dtype("numpy.bool_"), DType::boolean);
  EXPECT_EQ(find_dtype("BFloat16"), DType::bf16);
  EXPECT_EQ(find_dtype("torch.float8_e4m3fn"), DType::f8e4m3fn);
  EXPECT_EQ(find_dtype("F8_E4M3"), DType::f8e4m3fn);
  EXPECT_EQ(find_dtype("torch.long"), DType::i64);
  EXPECT_EQ(find_dtype(""), std::nullopt);
  EXPECT_EQ(find_dtype("string"), std::nullopt);
  EXPECT_EQ(find_dtype("torch."), std::nullopt);
}

TEST(DType, FitsF32MeansAtMost24Bits) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool wide = dtype == DType::f64 || dtype == DType::i64 || dtype == DType::i32 ||
                      dtype == DType::u64 || dtype == DType::u32 || dtype == DType::c128;
    EXPECT_EQ(fits_f32(dtype), !wide) << name(dtype);
  }
}

}  // namespace
}  // namespace assay
