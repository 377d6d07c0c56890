#include "assay/tensor/dtype.h"
#include "assay/tensor/dtype_simd.h"
#include "assay/tensor/dtype_small.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace assay {
namespace {

// __restrict: bytes may alias anything, which would keep the compiler from using vectors.
template <class From, class To>
void widen_all(const std::byte* __restrict from, int64_t count, To* __restrict to) {
  if constexpr (std::is_same_v<From, To>) {
    std::copy_n(from, count * static_cast<int64_t>(sizeof(To)), reinterpret_cast<std::byte*>(to));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

template <class To>
void look_up(const std::array<float, 256>& table, const std::byte* __restrict from, int64_t count,
             To* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(table[std::to_integer<uint8_t>(from[i])]);
}

// Binary formats of 16 bits as IEEE 754 lays them out, rounded straight from f64.
template <int MantissaBits>
uint16_t narrow(double value) {
  constexpr int kExponentBits = 15 - MantissaBits;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kShift = 52 - MantissaBits;
  constexpr unsigned kInfinity = ((1u << kExponentBits) - 1) << MantissaBits;
  constexpr auto kSmallestNormal = static_cast<uint64_t>(1023 + 1 - kBias) << 52;
  constexpr auto kDoubleInfinity = uint64_t{0x7FF} << 52;

  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  const auto sign = static_cast<unsigned>(bits >> 63) << 15;
  if (magnitude > kDoubleInfinity) {
    constexpr unsigned kQuiet = 1u << (MantissaBits - 1);
    const auto payload = static_cast<unsigned>(magnitude >> kShift) & ((1u << MantissaBits) - 1);
    return static_cast<uint16_t>(sign | kInfinity | kQuiet | payload);
  }
  if (magnitude < kSmallestNormal) {
    // Adding a power of two whose last bit is the smallest subnormal leaves the rounded mantissa in the low
    // bits.
    constexpr auto kMagic = static_cast<uint64_t>(1023 + 1 - kBias - MantissaBits + 52) << 52;
    const double sum = std::bit_cast<double>(magnitude) + std::bit_cast<double>(kMagic);
    return static_cast<uint16_t>(sign | static_cast<unsigned>(std::bit_cast<uint64_t>(sum) - kMagic));
  }
  const uint64_t rebiased = magnitude - (static_cast<uint64_t>(1023 - kBias) << 52);
  const uint64_t rounded =
      (rebiased + (uint64_t{1} << (kShift - 1)) - 1 + ((rebiased >> kShift) & 1)) >> kShift;
  return static_cast<uint16_t>(sign | static_cast<unsigned>(std::min<uint64_t>(rounded, kInfinity)));
}

template <class Int>
Int saturated(double value, double low, double high) {
  if (std::isnan(value)) return 0;
  if (value <= low) return static_cast<Int>(low);
  // `high` of the 64-bit types is rounded up to the first value that does not fit.
  if (value >= high) return high >= 0x1p63 ? std::numeric_limits<Int>::max() : static_cast<Int>(high);
  return static_cast<Int>(value);
}

template <class Convert>
void convert_all(const double* __restrict from, int64_t count, std::byte* __restrict to, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = convert(from[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
}

template <class Int>
void to_integers(const double* from, int64_t count, std::byte* to, double low, double high) {
  convert_all(from, count, to, [=](double value) { return saturated<Int>(value, low, high); });
}

}  // namespace

void to_f32(DType dtype, const std::byte* from, int64_t count, float* to) {
  switch (component(dtype)) {
    case DType::f32:
      return widen_all<float>(from, count, to);
    case DType::f16:
      return widen_f16(from, count, to);
    case DType::bf16:
      return widen_bf16(from, count, to);
    case DType::i16:
      return widen_all<int16_t>(from, count, to);
    case DType::u16:
      return widen_all<uint16_t>(from, count, to);
    case DType::i8:
      return widen_all<int8_t>(from, count, to);
    case DType::u8:
      return widen_all<uint8_t>(from, count, to);
    default:
      return look_up(values_of(dtype), from, count, to);
  }
}

void to_f64(DType dtype, const std::byte* from, int64_t count, double* to) {
  switch (component(dtype)) {
    case DType::f64:
      return widen_all<double>(from, count, to);
    case DType::f32:
      return widen_f32(from, count, to);
    case DType::f16:
      return widen_f16(from, count, to);
    case DType::bf16:
      return widen_bf16(from, count, to);
    case DType::i64:
      return widen_all<int64_t>(from, count, to);
    case DType::u64:
      return widen_all<uint64_t>(from, count, to);
    case DType::i32:
      return widen_all<int32_t>(from, count, to);
    case DType::u32:
      return widen_all<uint32_t>(from, count, to);
    case DType::i16:
      return widen_all<int16_t>(from, count, to);
    case DType::u16:
      return widen_all<uint16_t>(from, count, to);
    case DType::i8:
      return widen_all<int8_t>(from, count, to);
    case DType::u8:
      return widen_all<uint8_t>(from, count, to);
    default:
      return look_up(values_of(dtype), from, count, to);
  }
}

void from_f64(DType dtype, const double* from, int64_t count, std::byte* to) {
  switch (component(dtype)) {
    case DType::f64:
      return convert_all(from, count, to, [](double value) { return value; });
    case DType::f32:
      return convert_all(from, count, to, [](double value) { return static_cast<float>(value); });
    case DType::f16:
      return narrow_f16(from, count, to);
    case DType::bf16:
      return narrow_bf16(from, count, to);
    case DType::i64:
      return to_integers<int64_t>(from, count, to, -0x1p63, 0x1p63);
    case DType::i32:
      return to_integers<int32_t>(from, count, to, -0x1p31, 0x1p31 - 1);
    case DType::i16:
      return to_integers<int16_t>(from, count, to, -32768, 32767);
    case DType::i8:
      return to_integers<int8_t>(from, count, to, -128, 127);
    case DType::i4:
      return to_integers<int8_t>(from, count, to, -8, 7);
    case DType::i2:
      return to_integers<int8_t>(from, count, to, -2, 1);
    case DType::u64:
      return to_integers<uint64_t>(from, count, to, 0, 0x1p64);
    case DType::u32:
      return to_integers<uint32_t>(from, count, to, 0, 0x1p32 - 1);
    case DType::u16:
      return to_integers<uint16_t>(from, count, to, 0, 65535);
    case DType::u8:
      return to_integers<uint8_t>(from, count, to, 0, 255);
    case DType::u4:
      return to_integers<uint8_t>(from, count, to, 0, 15);
    case DType::u2:
      return to_integers<uint8_t>(from, count, to, 0, 3);
    case DType::u1:
      return to_integers<uint8_t>(from, count, to, 0, 1);
    case DType::boolean:
      return convert_all(from, count, to, [](double value) { return static_cast<uint8_t>(value != 0); });
    default:
      return convert_all(from, count, to, [=](double value) { return encode_small(dtype, value); });
  }
}

float f16_to_f32(uint16_t bits) {
  const unsigned magnitude = bits & 0x7FFFu;
  const unsigned sign = (bits & 0x8000u) << 16;
  if (magnitude < 0x0400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const unsigned rebias = (magnitude >= 0x7C00 ? 2u : 1u) * ((127u - 15u) << 23);
  const unsigned quiet = magnitude > 0x7C00 ? 1u << 22 : 0u;  // as the conversion instructions do
  return std::bit_cast<float>(sign | ((magnitude << 13) + rebias) | quiet);
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f64_to_f16(double value) { return narrow<10>(value); }
uint16_t f64_to_bf16(double value) { return narrow<7>(value); }
uint16_t f32_to_f16(float value) { return narrow<10>(static_cast<double>(value)); }
uint16_t f32_to_bf16(float value) { return narrow<7>(static_cast<double>(value)); }

}  // namespace assay
