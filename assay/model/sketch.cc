#include "assay/model/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {

ContentSums& ContentSums::operator+=(const ContentSums& more) {
  count += more.count;
  sum += more.sum;
  absolutes += more.absolutes;
  squares += more.squares;
  looked_at += more.looked_at;
  return *this;
}

bool ContentSums::is_constant() const {
  constexpr double kRounding = 1e-9;
  const auto added = static_cast<double>(looked_at);
  return std::abs(sum * sum - squares * added) <= kRounding * squares * added;
}

double distance(const ContentSums& a, const ContentSums& b) {
  constexpr double kSameNorm = 0.05;  // a few outliers, rounded, may make up most of a norm
  const double squares = std::max(a.squares, b.squares);
  if (squares == 0) return 0;
  if (std::abs(a.squares - b.squares) > kSameNorm * squares) return std::numeric_limits<double>::infinity();
  // The sum of n unrelated elements has a deviation of rms · √n, which is the norm.
  return std::max(std::abs(a.sum - b.sum), std::abs(a.absolutes - b.absolutes)) / std::sqrt(squares);
}

double relative_distance(const Sketch& a, const Sketch& b) {
  double apart = 0, size_a = 0, size_b = 0;
  for (size_t i = 0; i < Sketch::kLanes; ++i) {
    apart += (a.lanes[i] - b.lanes[i]) * (a.lanes[i] - b.lanes[i]);
    size_a += a.lanes[i] * a.lanes[i];
    size_b += b.lanes[i] * b.lanes[i];
  }
  const double size = std::max(size_a, size_b);
  if (size == 0) return a.sums.squares == b.sums.squares ? 0 : 1;
  if (a.sums.looked_at == b.sums.looked_at && a.sums.looked_at > 0)
    apart += (a.sums.sum - b.sums.sum) * (a.sums.sum - b.sums.sum) / static_cast<double>(a.sums.looked_at);
  return std::sqrt(apart / size);
}

}  // namespace assay
