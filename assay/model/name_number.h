#pragma once

#include "assay/base/text.h"

#include <optional>
#include <string_view>

namespace assay {

// The first number in a name, which often tells when it was written: 48 of "048_layers.2.mlp.npy".
inline std::optional<int64_t> first_number(std::string_view name) {
  static constexpr std::string_view kDigits = "0123456789";
  const size_t begin = name.find_first_of(kDigits);
  if (begin == std::string_view::npos) return std::nullopt;
  return parse_int(name.substr(begin, name.find_first_not_of(kDigits, begin) - begin));
}

}  // namespace assay
