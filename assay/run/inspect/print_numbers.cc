#include "assay/run/inspect/print_numbers.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay {
namespace {

constexpr int kPrecision = 8;

// A finite number as 0.DDDD… × 10^point, sign apart.
struct Decimal {
  bool negative = false;
  std::string digits;  // without zeros at the end; "0" for zero
  int point = 1;       // digits before the decimal point; may be negative
};

Decimal parse_scientific(std::string_view text) {
  Decimal out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  std::string_view exponent = text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  out.point = static_cast<int>(*parse_int(exponent)) + 1;
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  if (out.digits.empty()) out = Decimal{out.negative, "0", 1};
  return out;
}

double rounded_to(DType dtype, double value) {
  std::byte bytes[8];
  double back = 0;
  from_f64(dtype, &value, 1, bytes);
  to_f64(dtype, bytes, 1, &back);
  return back;
}

// The fewest digits that still mean this value and no other one of its type.
Decimal shortest(DType dtype, double value) {
  char buffer[32];
  if (dtype == DType::f64 || dtype == DType::f32) {
    const auto end = dtype == DType::f64
                         ? std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific).ptr
                         : std::to_chars(buffer, std::end(buffer), static_cast<float>(value),
                                         std::chars_format::scientific)
                               .ptr;
    return parse_scientific({buffer, static_cast<size_t>(end - buffer)});
  }
  for (int digits = 0; digits < 8; ++digits) {
    const std::string text = fmt::format("{:.{}e}", value, digits);
    if (rounded_to(dtype, *parse_double(text)) == value) return parse_scientific(text);
  }
  return parse_scientific(fmt::format("{:.{}e}", value, kPrecision));
}

std::string sign_of(bool negative, bool plus) { return negative ? "-" : plus ? "+" : ""; }

// Digits on both sides of the point; the point is always there ("1.").
std::string positional(const Decimal& d, bool plus) {
  std::string out = sign_of(d.negative, plus);
  const int count = static_cast<int>(d.digits.size());
  if (d.point <= 0) return out + "0." + std::string(static_cast<size_t>(-d.point), '0') + d.digits;
  if (d.point >= count) return out + d.digits + std::string(static_cast<size_t>(d.point - count), '0') + ".";
  return out + d.digits.substr(0, static_cast<size_t>(d.point)) + "." +
         d.digits.substr(static_cast<size_t>(d.point));
}

int fraction_digits(const Decimal& d) {
  return d.digits == "0" ? 0 : std::max(0, static_cast<int>(d.digits.size()) - d.point);
}

std::string exponent_text(int exponent, size_t width) {
  return fmt::format("e{}{:0{}d}", exponent < 0 ? '-' : '+', std::abs(exponent), width);
}

std::string nonfinite_text(double value, bool plus) {
  if (std::isnan(value)) return plus ? "+nan" : "nan";
  return sign_of(value < 0, plus) + "inf";
}

// How all numbers of one array are written.
class FloatColumn {
 public:
  FloatColumn(DType dtype, const std::vector<double>& values, bool plus) : dtype_(dtype), plus_(plus) {
    scientific_ = wants_exponents(values);
    bool has_nonfinite = false, has_finite = false;
    size_t nonfinite_width = 0;
    for (const double value : values) {
      if (!std::isfinite(value)) {
        has_nonfinite = true;
        nonfinite_width = std::max(nonfinite_width, nonfinite_text(value, value < 0 || plus).size());
        continue;
      }
      has_finite = true;
      scientific_ ? measure_scientific(value) : measure_positional(value);
    }
    // The column of the point is reserved even where nothing finite needs it, as NumPy does.
    if (!has_finite) left_ = right_ = 0;
    const size_t behind = scientific_ ? fraction_ + exponent_ + 2 : right_;
    if (has_nonfinite && nonfinite_width > behind + 1) left_ = std::max(left_, nonfinite_width - behind - 1);
    width_ = left_ + behind + 1;
  }

  std::string print(double value) const {
    if (!std::isfinite(value)) return fmt::format("{:>{}}", nonfinite_text(value, plus_), width_);
    if (scientific_) return fmt::format("{:>{}}", scientific(value), width_);
    const std::string text = short_positional(value);
    const size_t left = text.find('.');
    return std::string(left_ - std::min(left_, left), ' ') + text +
           std::string(right_ - (text.size() - left - 1), ' ');
  }

 private:
  bool wants_exponents(const std::vector<double>& values) const {
    double largest = 0, smallest = INFINITY;
    for (const double value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::fabs(value));
      smallest = std::min(smallest, std::fabs(value));
    }
    if (largest == 0) return false;
    double ratio = largest / smallest;  // in the precision of the array, where NumPy has it
    if (dtype_ == DType::f32)
      ratio = static_cast<double>(static_cast<float>(largest) / static_cast<float>(smallest));
    if (dtype_ == DType::f16) ratio = rounded_to(DType::f16, ratio);
    return largest >= 1e8 || smallest < 0.0001 || ratio > 1000;
  }

  std::string short_positional(double value) const {
    const Decimal d = shortest(dtype_, value);
    if (d.point >
        static_cast<int>(d.digits.size()))  // before the point all digits are those of the exact value
      return sign_of(d.negative, plus_) + fmt::format("{:.0f}.", std::fabs(value));
    if (fraction_digits(d) <= kPrecision) return positional(d, plus_);
    std::string text = fmt::format("{:.{}f}", std::fabs(value), kPrecision);
    text.erase(text.find_last_not_of('0') + 1);
    return sign_of(d.negative, plus_) + text;
  }

  void measure_positional(double value) {
    const std::string text = short_positional(value);
    const size_t left = text.find('.');
    left_ = std::max(left_, left);
    right_ = std::max(right_, text.size() - left - 1);
  }

  void measure_scientific(double value) {
    const Decimal d = shortest(dtype_, value);
    std::string digits = d.digits;
    if (digits.size() > kPrecision + 1)
      digits = parse_scientific(fmt::format("{:.{}e}", value, kPrecision)).digits;
    fraction_ = std::max(fraction_, digits.size() - 1);
    exponent_ = std::max(exponent_, std::abs(d.point - 1) >= 100 ? size_t{3} : size_t{2});
    left_ = std::max(left_, sign_of(d.negative, plus_).size() + 1);
  }

  // With as many digits as the longest one has; where the shortest form has fewer, further digits of the
  // exact value.
  std::string scientific(double value) const {
    Decimal d = shortest(dtype_, value);
    if (d.digits.size() != fraction_ + 1) d = parse_scientific(fmt::format("{:.{}e}", value, fraction_));
    d.digits.resize(fraction_ + 1, '0');
    return sign_of(d.negative, plus_) + d.digits.substr(0, 1) + "." + d.digits.substr(1) +
           exponent_text(d.point - 1, exponent_);
  }

  const DType dtype_;
  const bool plus_;
  bool scientific_ = false;
  size_t left_ = 0, right_ = 0;         // characters before and behind the point
  size_t fraction_ = 0, exponent_ = 0;  // digits, where there are exponents
  size_t width_ = 0;
};

template <class T>
T load_at(Bytes elements, size_t i) {
  return load_le<T>(elements.subspan(i * sizeof(T)));
}

std::string integer_text(DType dtype, Bytes elements, size_t i) {
  const bool is_signed = info(dtype).kind == DTypeKind::integer;
  switch (size_of(dtype)) {
    case 1:
      return is_signed ? std::to_string(load_at<int8_t>(elements, i))
                       : std::to_string(load_at<uint8_t>(elements, i));
    case 2:
      return is_signed ? std::to_string(load_at<int16_t>(elements, i))
                       : std::to_string(load_at<uint16_t>(elements, i));
    case 4:
      return is_signed ? std::to_string(load_at<int32_t>(elements, i))
                       : std::to_string(load_at<uint32_t>(elements, i));
    default:
      return is_signed ? std::to_string(load_at<int64_t>(elements, i))
                       : std::to_string(load_at<uint64_t>(elements, i));
  }
}

std::vector<double> as_doubles(DType dtype, Bytes elements) {
  const auto count = std::ssize(elements) / size_of(dtype) * components(dtype);
  std::vector<double> values(static_cast<size_t>(count));
  to_f64(component(dtype), elements.data(), count, values.data());
  return values;
}

std::vector<std::string> print_complex(DType dtype, Bytes elements) {
  const std::vector<double> all = as_doubles(dtype, elements);
  std::vector<double> real, imaginary;
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    real.push_back(all[i]);
    imaginary.push_back(all[i + 1]);
  }
  const FloatColumn left(component(dtype), real, false), right(component(dtype), imaginary, true);
  std::vector<std::string> words;
  for (size_t i = 0; i < real.size(); ++i) {
    std::string second = right.print(imaginary[i]);
    second.insert(second.find_last_not_of(' ') + 1, 1, 'j');
    words.push_back(left.print(real[i]) + second);
  }
  return words;
}

// `whole`: what stands behind the point of a number without a fraction; ".0" in "1.0", "" in "(1+2j)".
std::string float_scalar(DType dtype, double value, std::string_view whole, bool plus = false) {
  if (!std::isfinite(value)) return nonfinite_text(value, plus);
  const Decimal d = shortest(dtype, value);
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    std::string text = sign_of(d.negative, plus) + d.digits.substr(0, 1);
    if (d.digits.size() > 1) text.append(".").append(d.digits, 1);
    return text + exponent_text(d.point - 1, 2);
  }
  std::string text = positional(d, plus);
  if (text.ends_with('.')) {
    text.pop_back();
    text += whole;
  }
  return text;
}

}  // namespace

std::vector<std::string> print_elements(DType dtype, Bytes elements) {
  const DTypeKind kind = info(dtype).kind;
  if (kind == DTypeKind::complex) return print_complex(dtype, elements);
  std::vector<std::string> words;
  const size_t count = elements.size() / static_cast<size_t>(size_of(dtype));
  words.reserve(count);
  if (kind == DTypeKind::real) {
    const std::vector<double> values = as_doubles(dtype, elements);
    const FloatColumn column(dtype, values, false);
    for (const double value : values) words.push_back(column.print(value));
    return words;
  }
  for (size_t i = 0; i < count; ++i) {
    if (kind == DTypeKind::truth)
      words.emplace_back(elements[i] != std::byte{0} ? " True" : "False");
    else
      words.push_back(integer_text(dtype, elements, i));
  }
  size_t width = 0;
  for (const std::string& word : words) width = std::max(width, word.size());
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
  return words;
}

std::string print_scalar(DType dtype, Bytes element) {
  const DTypeKind kind = info(dtype).kind;
  if (kind == DTypeKind::truth) return element[0] != std::byte{0} ? "True" : "False";
  if (kind == DTypeKind::integer || kind == DTypeKind::natural) return integer_text(dtype, element, 0);
  const std::vector<double> parts = as_doubles(dtype, element);
  if (kind == DTypeKind::real) return float_scalar(dtype, parts[0], ".0");
  const DType part = component(dtype);
  if (parts[0] == 0 && !std::signbit(parts[0])) return float_scalar(part, parts[1], "") + "j";
  return fmt::format("({}{}j)", float_scalar(part, parts[0], ""), float_scalar(part, parts[1], "", true));
}

}  // namespace assay
