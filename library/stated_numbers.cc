#include "library/stated_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay::library {

void append_real(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[40];
  const char* const end = std::to_chars(text, std::end(text), value, std::chars_format::scientific).ptr;
  const char* const e = std::find<const char*>(text, end, 'e');
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out.append(text, static_cast<size_t>(end - text));
    return;
  }
  std::string digits;
  for (const char* at = text; at != e; ++at)
    if (*at == '-')
      out += '-';
    else if (*at != '.')
      digits += *at;
  const auto size = static_cast<int>(digits.size());
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out += digits;
  } else if (size <= exponent + 1) {
    out += digits;
    out.append(static_cast<size_t>(exponent + 1 - size), '0');
    out += ".0";
  } else {
    out.append(digits, 0, static_cast<size_t>(exponent) + 1);
    out += '.';
    out.append(digits, static_cast<size_t>(exponent) + 1);
  }
}

namespace {

void append_hex(std::string& out, uint64_t value, int digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = digits; i-- > 0;) out += kDigits[value >> 4 * i & 15];
}

double rounded(double value, DType dtype) {
  if (std::isnan(value)) return value;
  switch (dtype) {
    case DType::f32:
      return static_cast<float>(value);
    case DType::f16:
      return f16_to_f32(f64_to_f16(value));
    default:
      return bf16_to_f32(f64_to_bf16(value));
  }
}

}  // namespace

void append_known(std::string& out, const Shown& shown, const Numbers& n, uint32_t crc32, uint64_t xor64,
                  int field) {
  const DTypeKind kind = info(shown.dtype).kind;
  if (field == kCrcField || field == kXorField) {
    out += field == kCrcField ? "\"" : "\"0x";
    append_hex(out, field == kCrcField ? crc32 : xor64, field == kCrcField ? 8 : 16);
    out += '"';
    return;
  }
  if (shown.is_scalar && kind != DTypeKind::truth) field = 0;  // its value, four times
  if (field >= 2) {
    if (shown.has_sums && is_small_float(shown.dtype))
      append_real(out, rounded(field == 2 ? n.mean : n.norm, shown.dtype));
    else
      out += "null";
    return;
  }
  const int64_t whole = field == 0 ? n.max_integer : n.min_integer;
  if (kind == DTypeKind::truth)
    out += whole != 0 ? "true" : "false";
  else if (kind == DTypeKind::natural)
    out += std::to_string(static_cast<uint64_t>(whole));
  else if (kind == DTypeKind::integer)
    out += std::to_string(whole);
  else
    append_real(out, n.has_nan ? std::nan("") : field == 0 ? n.max : n.min);
}

}  // namespace assay::library
