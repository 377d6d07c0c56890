#include "assay/report/page/derived_numbers.h"

#include "assay/base/text.h"
#include "assay/tensor/dtype.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace assay {
namespace {

constexpr std::array<std::string_view, 10> kContainers = {
    "layers", "layer", "h", "blocks", "block", "encoder", "decoder", "resblocks", "transformer_blocks",
    "stages"};

bool is_container(std::string_view word) {
  if (std::ranges::find(kContainers, word) != kContainers.end()) return true;
  const std::string small = to_lower(word);
  return std::ranges::any_of(std::array{"layer", "layers", "block", "blocks"},
                             [&](std::string_view end) { return small.ends_with(end); });
}

std::optional<double> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return static_cast<double>(number);
}

// "model.layers.12.mlp" is in layer 12; nothing where the name does not say.
std::optional<double> layer_in_name(std::string_view name) {
  const char separator = name.find('/') == std::string_view::npos ? '.' : '/';
  std::string_view before;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find(separator));
    if (const auto number = whole_number(part); number && is_container(before)) return number;
    before = part;
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return std::nullopt;
}

// Elements of "[2, 16, 64]"; nothing where it is no shape.
std::optional<double> count_of_shape(std::string_view shape) {
  if (!shape.starts_with('[') || !shape.ends_with(']')) return std::nullopt;
  shape = shape.substr(1, shape.size() - 2);
  double count = 1;
  while (!shape.empty()) {
    std::string_view part = shape.substr(0, shape.find(','));
    shape.remove_prefix(std::min(shape.size(), part.size() + 1));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const auto size = whole_number(part);
    if (!size) return std::nullopt;
    count *= *size;
  }
  return count;
}

// The step of a type behind 1; 0 of what is no real.
double eps_of_type(std::string_view dtype) {
  const auto known = find_dtype(dtype);
  if (!known || info(*known).kind != DTypeKind::real) return 0;
  return std::ldexp(1.0, -info(*known).mantissa_bits);
}

}  // namespace

std::optional<double> derived_number(std::string_view name,
                                     const std::function<std::string_view(std::string_view column)>& text) {
  if (name == "layer") {
    for (const std::string_view column : {"name", ".within"})
      if (const auto layer = layer_in_name(text(column))) return layer;
    return whole_number(text(".layers")).value_or(0);
  }
  if (name == "count") {
    const std::string_view golden = text("golden_shape");
    return count_of_shape(golden.empty() ? text("mine_shape") : golden);
  }
  if (name == "eps") return std::max(eps_of_type(text("mine_dtype")), eps_of_type(text("golden_dtype")));
  return std::nullopt;
}

}  // namespace assay
