#include "assay/model/scalar_of.h"

namespace assay {
namespace {

constexpr size_t kFewestDigits = 19;  // of 2^63

bool is_big_integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.size() >= kFewestDigits && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Scalar scalar_of(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value))
    return is_big_integer(*text) ? Scalar::big(*text) : Scalar(std::string_view(*text));
  return {};
}

}  // namespace assay
