#include "assay/tensor/dense.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// Elements of `Bits` bits, the first one in the lowest bits of the first byte.
template <int Bits>
void unpack_low_first(const uint8_t* from, int64_t count, uint8_t* to) {
  constexpr int kPerByte = 8 / Bits;
  constexpr unsigned kMask = (1u << Bits) - 1;
  const int64_t whole = count / kPerByte;
  for (int64_t i = 0; i < whole; ++i)
    for (int k = 0; k < kPerByte; ++k)
      to[i * kPerByte + k] = static_cast<uint8_t>((from[i] >> (k * Bits)) & kMask);
  for (int64_t i = whole * kPerByte; i < count; ++i)
    to[i] = static_cast<uint8_t>((from[whole] >> (i % kPerByte * Bits)) & kMask);
}

template <int Bits>
void pack_low_first(const uint8_t* from, int64_t count, uint8_t* to) {
  constexpr int kPerByte = 8 / Bits;
  constexpr unsigned kMask = (1u << Bits) - 1;
  for (int64_t i = 0; i * kPerByte < count; ++i) {
    unsigned byte = 0;
    const int64_t present = std::min<int64_t>(kPerByte, count - i * kPerByte);
    for (int64_t k = 0; k < present; ++k) byte |= (from[i * kPerByte + k] & kMask) << (k * Bits);
    to[i] = static_cast<uint8_t>(byte);
  }
}

template <int Bits>
void sign_extend(uint8_t* bytes, int64_t count) {
  constexpr int kShift = 8 - Bits;
  for (int64_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<int8_t>(bytes[i] << kShift) >> kShift);
}

void unpack_high_first(const uint8_t* from, int64_t count, uint8_t* to) {
  const int64_t whole = count / 8;
  for (int64_t i = 0; i < whole; ++i)
    for (int k = 0; k < 8; ++k) to[i * 8 + k] = (from[i] >> (7 - k)) & 1;
  for (int64_t i = whole * 8; i < count; ++i) to[i] = (from[whole] >> (7 - i % 8)) & 1;
}

void pack_high_first(const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i * 8 < count; ++i) {
    unsigned byte = 0;
    const int64_t present = std::min<int64_t>(8, count - i * 8);
    for (int64_t k = 0; k < present; ++k) byte |= (from[i * 8 + k] & 1u) << (7 - k);
    to[i] = static_cast<uint8_t>(byte);
  }
}

void unpack_six_bits(const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; i += 4) {
    const int64_t present = std::min<int64_t>(4, count - i);
    uint32_t word = 0;
    std::memcpy(&word, from + i / 4 * 3, static_cast<size_t>((present * 6 + 7) / 8));
    for (int64_t k = 0; k < present; ++k) to[i + k] = (word >> (6 * k)) & 63;
  }
}

void pack_six_bits(const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; i += 4) {
    const int64_t present = std::min<int64_t>(4, count - i);
    uint32_t word = 0;
    for (int64_t k = 0; k < present; ++k) word |= (from[i + k] & 63u) << (6 * k);
    std::memcpy(to + i / 4 * 3, &word, static_cast<size_t>((present * 6 + 7) / 8));
  }
}

}  // namespace

int64_t packed_size(DType dtype, int64_t count) {
  const int64_t bits = info(dtype).storage_bits;
  if (bits % 8 == 0) return count * (bits / 8);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;  // in this order it cannot overflow
}

void unpack(DType dtype, const std::byte* from, int64_t count, std::byte* to) {
  const auto* const in = reinterpret_cast<const uint8_t*>(from);
  auto* const out = reinterpret_cast<uint8_t*>(to);
  switch (dtype) {
    case DType::i4:
      unpack_low_first<4>(in, count, out);
      return sign_extend<4>(out, count);
    case DType::u4:
    case DType::f4e2m1:
    case DType::f4e1m2:
      return unpack_low_first<4>(in, count, out);
    case DType::i2:
      unpack_low_first<2>(in, count, out);
      return sign_extend<2>(out, count);
    case DType::u2:
      return unpack_low_first<2>(in, count, out);
    case DType::u1:
      return unpack_high_first(in, count, out);
    case DType::f6e3m2:
    case DType::f6e2m3:
      return unpack_six_bits(in, count, out);
    default:
      std::copy_n(from, count * size_of(dtype), to);
  }
}

void pack(DType dtype, const std::byte* from, int64_t count, std::byte* to) {
  const auto* const in = reinterpret_cast<const uint8_t*>(from);
  auto* const out = reinterpret_cast<uint8_t*>(to);
  switch (dtype) {
    case DType::i4:
    case DType::u4:
    case DType::f4e2m1:
    case DType::f4e1m2:
      return pack_low_first<4>(in, count, out);
    case DType::i2:
    case DType::u2:
      return pack_low_first<2>(in, count, out);
    case DType::u1:
      return pack_high_first(in, count, out);
    case DType::f6e3m2:
    case DType::f6e2m3:
      return pack_six_bits(in, count, out);
    default:
      std::copy_n(from, count * size_of(dtype), to);
  }
}

int64_t spare_bits(DType dtype, int64_t count) {
  const int64_t rest = count % kPackedGroup;
  return packed_size(dtype, rest) * 8 - rest * info(dtype).storage_bits;
}

bool are_spare_bits_set(DType dtype, const std::byte* from, int64_t count) {
  if (spare_bits(dtype, count) == 0) return false;
  const int64_t rest = count % kPackedGroup;
  std::byte elements[kPackedGroup] = {}, clean[kPackedGroup] = {};
  unpack(dtype, from, rest, elements);
  pack(dtype, elements, rest, clean);
  return !std::equal(clean, clean + packed_size(dtype, rest), from);
}

}  // namespace assay
