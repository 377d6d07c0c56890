#include "assay/base/decimals.h"

namespace assay {

int8_t printed_decimals(std::span<const std::string_view> numbers) {
  // No program prints any other number of them by itself: "1.5" may be all that there is.
  constexpr size_t kDecimals = 6;
  bool any = false;
  for (const std::string_view number : numbers) {
    const size_t point = number.find('.');
    if (point == std::string_view::npos) continue;
    const std::string_view behind = number.substr(point + 1);
    if (behind.size() != kDecimals || behind.find_first_not_of("0123456789") != std::string_view::npos)
      return -1;
    any = true;
  }
  return any ? static_cast<int8_t>(kDecimals) : int8_t{-1};
}

}  // namespace assay
