#include "assay/golden/params.h"

#include "assay/base/text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53

std::optional<int64_t> whole(const Value& value) {
  if (const auto* const number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* const real = std::get_if<double>(&value);
      real != nullptr && std::abs(*real) <= kLargestExact && *real == std::trunc(*real))
    return static_cast<int64_t>(*real);
  return std::nullopt;
}

std::optional<bool> truth(const Value& value) {
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag;
  const auto number = whole(value);
  return number == 0 || number == 1 ? std::optional(number == 1) : std::nullopt;
}

std::optional<double> real_number(const Value& value) {
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  const auto number = whole(value);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

tl::unexpected<Error> missing(ParamKeys keys) {
  return fail(ErrorKind::bad_argument, "the parameter {} is missing", *keys.begin());
}

tl::unexpected<Error> not_a(std::string_view what, ParamKeys keys) {
  return fail(ErrorKind::bad_argument, "the parameter {} is not {}", *keys.begin(), what);
}

// `convert` gives an optional of what is wanted.
template <class Convert>
auto one(const OpParam& param, ParamKeys keys, std::string_view what, Convert convert)
    -> Result<typename decltype(convert(Value()))::value_type> {
  if (param.values.size() != 1 || param.is_list) return not_a(what, keys);  // or an object
  const auto found = convert(param.values[0]);
  if (!found) return not_a(what, keys);
  return *found;
}

template <class Convert>
auto several(const OpParam& param, ParamKeys keys, std::string_view what, Convert convert)
    -> Result<std::vector<typename decltype(convert(Value()))::value_type>> {
  std::vector<typename decltype(convert(Value()))::value_type> out;
  if (param.values.empty() && !param.is_list) return not_a(what, keys);
  for (const Value& value : param.values) {
    const auto found = convert(value);
    if (!found) return not_a(what, keys);
    out.push_back(*found);
  }
  return out;
}

Result<int64_t> among(int64_t value, ParamKeys keys, std::span<const int64_t> allowed) {
  if (std::ranges::find(allowed, value) != allowed.end()) return value;
  return fail(ErrorKind::bad_argument, "the parameter {} is {}, which is none of {}", *keys.begin(), value,
              fmt::join(allowed, ", "));
}

bool is_null(const OpParam& param) {
  return !param.is_list && param.values.size() == 1 &&
         std::holds_alternative<std::monostate>(param.values[0]);
}

// Whether one is the name of an object, and the other of something inside of it.
bool is_inside(std::string_view outer, std::string_view inner) {
  return inner.size() > outer.size() && inner[outer.size()] == '.' && inner.starts_with(outer);
}

}  // namespace

const OpParam* GoldenParams::find(ParamKeys keys) const {
  static const OpParam no_value;  // an object where a value is wanted, or a value where an object is
  const OpParam* found = nullptr;
  for (const std::string_view key : keys)
    for (const OpParam& param : list_) {
      if (is_null(param)) continue;
      if (param.key == key) return &param;
      if (is_inside(key, param.key) || is_inside(param.key, key)) found = &no_value;
    }
  return found;
}

Result<int64_t> GoldenParams::integer(ParamKeys keys) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return missing(keys);
  return one(*param, keys, "a whole number", whole);
}

Result<std::vector<int64_t>> GoldenParams::integers(ParamKeys keys) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return missing(keys);
  return several(*param, keys, "a list of whole numbers", whole);
}

Result<std::vector<double>> GoldenParams::reals(ParamKeys keys) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return missing(keys);
  return several(*param, keys, "a list of finite numbers", real_number);
}

Result<std::string> GoldenParams::text(ParamKeys keys) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return missing(keys);
  if (param->values.size() != 1 || !std::holds_alternative<std::string>(param->values[0]))
    return not_a("a text", keys);
  return std::get<std::string>(param->values[0]);
}

Result<bool> GoldenParams::flag(ParamKeys keys) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return missing(keys);
  if (const auto found = one(*param, keys, "", truth)) return *found;
  return fail(ErrorKind::bad_argument, "the parameter {} is neither true nor false", *keys.begin());
}

Result<int64_t> GoldenParams::integer_or(ParamKeys keys, int64_t otherwise) const {
  return has(keys) ? integer(keys) : Result<int64_t>(otherwise);
}

Result<double> GoldenParams::real_or(ParamKeys keys, double otherwise) const {
  const OpParam* const param = find(keys);
  if (param == nullptr) return otherwise;
  return one(*param, keys, "a finite number", real_number);
}

Result<double> GoldenParams::epsilon_or(ParamKeys keys, double otherwise) const {
  ASSAY_TRY(const double value, real_or(keys, otherwise));
  if (value >= 0) return value;
  return fail(ErrorKind::bad_argument, "the parameter {} is {}, which is negative", *keys.begin(), value);
}

Result<bool> GoldenParams::flag_or(ParamKeys keys, bool otherwise) const {
  return has(keys) ? flag(keys) : Result<bool>(otherwise);
}

Result<std::vector<int64_t>> GoldenParams::integers_or(ParamKeys keys, std::vector<int64_t> otherwise) const {
  return has(keys) ? integers(keys) : Result<std::vector<int64_t>>(std::move(otherwise));
}

Result<int64_t> GoldenParams::choice(ParamKeys keys, std::span<const int64_t> allowed) const {
  ASSAY_TRY(const int64_t value, integer(keys));
  return among(value, keys, allowed);
}

Result<int64_t> GoldenParams::choice_or(ParamKeys keys, int64_t otherwise,
                                        std::span<const int64_t> allowed) const {
  ASSAY_TRY(const int64_t value, integer_or(keys, otherwise));
  return among(value, keys, allowed);
}

}  // namespace assay
