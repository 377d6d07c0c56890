#include "assay/tensor/dtype_small.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace assay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

enum class Special : uint8_t {
  none,       // every code is a number
  ieee,       // the largest exponent is inf (mantissa 0) or NaN
  last_code,  // only the code of all ones (but for the sign) is NaN
  minus_zero  // only the code of -0 is NaN
};

struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  Special special;
};

float decode(const SmallFloat& type, unsigned code) {
  const int sign_bit = type.exponent_bits + type.mantissa_bits;
  const unsigned magnitude = code & ((1u << sign_bit) - 1);
  const bool negative = (code >> sign_bit) & 1;
  const int exponent = static_cast<int>(magnitude >> type.mantissa_bits);
  const int mantissa = static_cast<int>(magnitude & ((1u << type.mantissa_bits) - 1));
  if (type.special == Special::ieee && exponent == (1 << type.exponent_bits) - 1)
    return mantissa != 0 ? kNan : negative ? -kInf : kInf;
  if (type.special == Special::last_code && magnitude == (1u << sign_bit) - 1) return kNan;
  if (type.special == Special::minus_zero && negative && magnitude == 0) return kNan;
  const int scale = std::max(exponent, 1) - type.bias - type.mantissa_bits;
  const int hidden = exponent == 0 ? 0 : 1 << type.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(hidden + mantissa), scale);
  return negative ? -value : value;
}

float decode_e8m0(unsigned code) {
  return code == 0xFF ? kNan : std::ldexp(1.0f, static_cast<int>(code) - 127);
}

// HiFloat8: after the sign, a prefix says how many bits the exponent has; the rest is the mantissa.
float decode_hif8(unsigned code) {
  const unsigned rest = code & 0x7F;
  const bool negative = code & 0x80;
  if (rest == 0) return negative ? kNan : 0.0f;
  if (rest == 0x6F) return negative ? -kInf : kInf;
  float value = 0;
  if (rest < 0x08) {
    value = std::ldexp(1.0f, static_cast<int>(rest) - 23);
  } else {
    const int exponent_bits = rest >= 0x60 ? 4 : rest >= 0x40 ? 3 : rest >= 0x20 ? 2 : rest >= 0x10 ? 1 : 0;
    const int mantissa_bits = rest >= 0x60 ? 1 : rest >= 0x40 ? 2 : 3;
    const auto field = static_cast<int>((rest >> mantissa_bits) & ((1u << exponent_bits) - 1));
    int exponent = 0;
    if (exponent_bits > 0) {
      const int top =
          1 << (exponent_bits - 1);  // both the sign bit of the field and the hidden bit of the exponent
      exponent = top + (field & (top - 1));
      if (field & top) exponent = -exponent;
    }
    const auto mantissa = static_cast<int>(rest & ((1u << mantissa_bits) - 1));
    value = std::ldexp(static_cast<float>((1 << mantissa_bits) + mantissa), exponent - mantissa_bits);
  }
  return negative ? -value : value;
}

float sign_extended(unsigned code, int bits) {
  const int value = static_cast<int>(code & ((1u << bits) - 1));
  return static_cast<float>(value >= 1 << (bits - 1) ? value - (1 << bits) : value);
}

float decode_small(DType dtype, unsigned code) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return decode({4, 3, 7, Special::last_code}, code);
    case DType::f8e5m2:
      return decode({5, 2, 15, Special::ieee}, code);
    case DType::f8e4m3fnuz:
      return decode({4, 3, 8, Special::minus_zero}, code);
    case DType::f8e5m2fnuz:
      return decode({5, 2, 16, Special::minus_zero}, code);
    case DType::f8e8m0:
      return decode_e8m0(code);
    case DType::hif8:
      return decode_hif8(code);
    case DType::f6e3m2:
      return decode({3, 2, 3, Special::none}, code);
    case DType::f6e2m3:
      return decode({2, 3, 1, Special::none}, code);
    case DType::f4e2m1:
      return decode({2, 1, 1, Special::none}, code);
    case DType::f4e1m2:
      return decode({1, 2, 1, Special::none}, code);
    case DType::i8:
      return sign_extended(code, 8);
    case DType::i4:
      return sign_extended(code, 4);
    case DType::i2:
      return sign_extended(code, 2);
    case DType::u4:
      return static_cast<float>(code & 15);
    case DType::u2:
      return static_cast<float>(code & 3);
    case DType::u1:
      return static_cast<float>(code & 1);
    case DType::boolean:
      return code != 0 ? 1.0f : 0.0f;
    default:
      return static_cast<float>(code);  // u8
  }
}

using Tables = std::array<std::array<float, 256>, kDTypeCount>;

Tables make_tables() {
  Tables tables{};
  for (size_t t = 0; t < tables.size(); ++t)
    if (size_of(static_cast<DType>(t)) == 1)
      for (unsigned code = 0; code < 256; ++code) tables[t][code] = decode_small(static_cast<DType>(t), code);
  return tables;
}

// All values that are not negative, in rising order, and what stands beyond them.
struct Encoder {
  std::vector<double> values;
  std::vector<uint8_t> codes;
  double beyond = 0;  // where the value after the largest would be: the tie of the two decides what overflows
  uint8_t overflow = 0, infinity = 0, nan = 0, sign = 0;
  bool minus_zero = true;
  bool ties_up = false;  // else to the even code
};

Encoder make_encoder(DType dtype) {
  const auto& table = values_of(dtype);
  const int bits = info(dtype).storage_bits;
  Encoder out;
  out.sign = dtype == DType::f8e8m0 ? 0 : static_cast<uint8_t>(1 << (bits - 1));
  const unsigned positive_codes = dtype == DType::f8e8m0 ? 256 : 1u << (bits - 1);
  for (unsigned code = 0; code < positive_codes; ++code)
    if (std::isfinite(table[code])) out.codes.push_back(static_cast<uint8_t>(code));
  std::sort(out.codes.begin(), out.codes.end(), [&](uint8_t a, uint8_t b) { return table[a] < table[b]; });
  for (const uint8_t code : out.codes) out.values.push_back(static_cast<double>(table[code]));
  const double largest = out.values.back();
  const double before = out.values[out.values.size() - 2];
  out.beyond = largest + (largest - before);
  switch (dtype) {
    case DType::f8e4m3fn:
      out.overflow = out.infinity = out.nan = 0x7F;
      break;
    case DType::f8e5m2:
      out.overflow = out.infinity = 0x7C;
      out.nan = 0x7E;
      break;
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz:
      out.overflow = out.infinity = out.nan = 0x80;
      out.minus_zero = false;
      break;
    case DType::f8e8m0:
      out.overflow = out.infinity = out.nan = 0xFF;
      out.beyond = 2 * largest;
      out.ties_up = true;
      break;
    case DType::hif8:
      out.overflow = out.infinity = 0x6F;
      out.nan = 0x80;
      out.beyond = 1.5 * largest;  // the code of infinity would be this number
      out.minus_zero = false;
      break;
    default:
      out.overflow = out.infinity = out.codes.back();
      break;  // saturates; NaN has no code and becomes 0
  }
  return out;
}

const Encoder& encoder(DType dtype) {
  static const std::array<Encoder, kDTypeCount> kEncoders = [] {
    std::array<Encoder, kDTypeCount> all;
    for (size_t t = 0; t < all.size(); ++t) {
      const auto type = static_cast<DType>(t);
      if (size_of(type) == 1 && is_real(type)) all[t] = make_encoder(type);
    }
    return all;
  }();
  return kEncoders[static_cast<size_t>(dtype)];
}

}  // namespace

const std::array<float, 256>& values_of(DType dtype) {
  static const Tables kTables = make_tables();
  return kTables[static_cast<size_t>(dtype)];
}

uint8_t encode_small(DType dtype, double value) {
  const Encoder& e = encoder(dtype);
  if (std::isnan(value)) return e.nan;
  const bool negative = std::signbit(value);
  if (dtype == DType::f8e8m0 && value < 0) return e.nan;
  const double magnitude = std::abs(value);
  const auto with_sign = [&](uint8_t code) {
    return !negative || (code == 0 && !e.minus_zero) ? code : static_cast<uint8_t>(code | e.sign);
  };
  if (std::isinf(value)) return with_sign(e.infinity);

  const auto above = std::lower_bound(e.values.begin(), e.values.end(), magnitude);
  const auto i = static_cast<size_t>(above - e.values.begin());
  if (i == 0) return with_sign(e.codes[0]);
  const bool is_last = above == e.values.end();
  const double middle =
      (e.values[i - 1] + (is_last ? e.beyond : *above)) / 2;  // exact: all of these have few bits
  const bool tie_goes_down = !e.ties_up && (e.codes[i - 1] & 1) == 0;
  if (magnitude < middle || (magnitude == middle && tie_goes_down)) return with_sign(e.codes[i - 1]);
  return with_sign(is_last ? e.overflow : e.codes[i]);
}

}  // namespace assay
