#include "assay/compat/msprobe/metric/pandas_number.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace assay {
namespace {

constexpr int kDigits = 17, kLargestExponent = 308;

double power_of_ten(int exponent) {
  static const auto kPowers = [] {
    std::array<double, kLargestExponent + 1> powers{};
    for (size_t i = 0; i < powers.size(); ++i) powers[i] = parse_double(fmt::format("1e{}", i)).value_or(0);
    return powers;
  }();
  return exponent > kLargestExponent ? std::numeric_limits<double>::infinity()
                                     : kPowers[static_cast<size_t>(exponent)];
}

bool is_digit(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// A number as Python prints it, in the way described above.
double read(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  double number = 0;
  int digits = 0, exponent = 0;
  for (; is_digit(text, at); ++at) {
    if (digits == kDigits) {
      ++exponent;
      continue;
    }
    number = number * 10 + (text[at] - '0');
    ++digits;
  }
  if (at < text.size() && text[at] == '.')
    for (++at; is_digit(text, at); ++at) {
      if (digits == kDigits) continue;
      number = number * 10 + (text[at] - '0');
      ++digits;
      --exponent;
    }
  if (at < text.size() && text[at] == 'e') {
    std::string_view power = text.substr(at + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    exponent += static_cast<int>(parse_int(power).value_or(0));
  }
  if (text.starts_with('-')) number = -number;
  if (exponent > 0) return number * power_of_ten(exponent);
  if (exponent >= -kLargestExponent) return number / power_of_ten(-exponent);
  return number / power_of_ten(-kLargestExponent - exponent) / power_of_ten(kLargestExponent);
}

}  // namespace

double read_by_pandas(double number) {
  if (!std::isfinite(number)) return number;
  // Up to here all digits are kept, and are exact: there is nothing to round.
  constexpr double kExact = 1e15;
  if (std::trunc(number) == number && std::abs(number) < kExact) return number;
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // one digit more to take in
  return read(text);
}

std::optional<double> pandas_number(const Scalar& scalar) {
  if (const auto whole = scalar.integer()) return read(std::to_string(*whole));
  if (const auto digits = scalar.digits()) return read(*digits);
  const auto number = number_of(scalar);
  return number ? std::optional(read_by_pandas(*number)) : std::nullopt;
}

}  // namespace assay
