#include "assay/run/compare/stated_parts.h"

#include <cmath>

namespace assay {

std::optional<Stated> join_stated(const std::vector<StatedPart>& parts) {
  double max = -INFINITY, min = INFINITY, sum = 0, squares = 0, count = 0;
  for (const StatedPart& part : parts) {
    if (part.stated == nullptr || part.count <= 0) return std::nullopt;
    const auto of_max = number_of(part.stated->max), of_min = number_of(part.stated->min);
    const auto mean = number_of(part.stated->mean), norm = number_of(part.stated->norm);
    if (!of_max || !of_min || !mean || !norm) return std::nullopt;
    // A part with NaN makes the whole NaN, as it would be if the whole had been looked at.
    max = std::isnan(max) || *of_max <= max ? max : *of_max;
    min = std::isnan(min) || *of_min >= min ? min : *of_min;
    sum += *mean * static_cast<double>(part.count);
    squares += *norm * *norm;
    count += static_cast<double>(part.count);
  }
  if (parts.empty()) return std::nullopt;
  Stated joined;
  joined.max = max;
  joined.min = min;
  joined.mean = sum / count;
  joined.norm = std::sqrt(squares);
  return joined;
}

}  // namespace assay
