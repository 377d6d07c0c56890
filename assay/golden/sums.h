// A sum as honest arithmetic may round it, one term after another or in any other order.
#pragma once

#include <algorithm>
#include <cmath>

namespace assay {

// Each addition rounds a partial sum S by at most u|S|, and the errors of different signs add up like a
// random walk: √Σ(uS)², of which four times is beyond chance (a rounding is off by u/√3 on average). Partial
// sums in another order are of the size of those that the squares of the terms tell, where ours cancel.
// Equal terms are rounded the same way each time, which is no random walk: so the sum is taken in f32 as
// well.
class SumError {
 public:
  void add(double term) {
    const bool is_first = squares_ == 0;
    sum_ += term;
    narrow_ += static_cast<float>(term);
    squares_ += term * term;
    if (!is_first) steps_ += std::max(sum_ * sum_, squares_);
  }
  double sum() const { return sum_; }
  // With unit roundoff u, before the sum itself is rounded to its type.
  double error(double u) const {
    const double seen = u == kUnitOfF32 ? 1.5 * std::abs(static_cast<double>(narrow_) - sum_) : 0;
    return std::max(4 * u * std::sqrt(steps_), seen);
  }

 private:
  static constexpr double kUnitOfF32 = 0x1p-24;
  double sum_ = 0, squares_ = 0, steps_ = 0;
  float narrow_ = 0;
};

// For tensors: 0 where there is no number to be off by, never more than a float holds.
inline float as_allowed(double error) {
  return std::isfinite(error) ? static_cast<float>(std::min(error, 0x1.fffffep127)) : 0.0F;
}

}  // namespace assay
