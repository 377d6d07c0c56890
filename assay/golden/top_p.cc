#include "assay/golden/top_p.h"

#include "assay/golden/glibc_random.h"
#include "assay/golden/numbers.h"
#include "assay/golden/sums.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

constexpr double kDropped = -9999;  // what the logarithm of a word that does not stay is written as

}  // namespace

TopP::TopP(std::span<const double> probabilities, DType dtype, Cut cut, double p)
    : dtype_(dtype), p_(p), places_(probabilities.size()) {
  std::iota(places_.begin(), places_.end(), 0);
  const auto at = [&](int64_t i) { return probabilities[static_cast<size_t>(i)]; };
  has_nan_ = std::isnan(p) || std::ranges::any_of(probabilities, [](double x) { return std::isnan(x); });
  if (!has_nan_) std::ranges::stable_sort(places_, std::ranges::greater(), at);
  for (const int64_t i : places_) sorted_.push_back(at(i));
  const size_t count = cut.is_by_value ? sorted_.size() : static_cast<size_t>(cut.rank);
  kept_ = count;
  if (cut.is_by_value) {
    const double least = sorted_[static_cast<size_t>(cut.rank)];
    kept_ = static_cast<size_t>(std::ranges::count_if(sorted_, [&](double x) { return x >= least; }));
  }
  // Added up in f32 and rounded each time; whether a sum that is looked at again was rounded is not told.
  SumError sum;
  for (size_t i = 0; i < count; ++i) {
    sum.add(i < kept_ ? sorted_[i] : 0);
    sums_.push_back(rounded_to(dtype, sum.sum()));
    errors_.push_back(sum.error(unit_of_arithmetic(dtype)) + unit_roundoff(dtype) * std::abs(sums_.back()));
  }
  below_p_ = last_below_p();
  up_to_p_ = last_up_to_p();
}

TopP::Range TopP::last_below_p() const {
  Range range{-1, -1, -1};
  for (size_t i = 0; i < sums_.size(); ++i) {
    range.least += sums_[i] + errors_[i] < p_ ? 1 : 0;
    range.likely += sums_[i] < p_ ? 1 : 0;
    range.most += sums_[i] - errors_[i] < p_ ? 1 : 0;
  }
  return {std::max<int64_t>(range.least, 0), std::max<int64_t>(range.likely, 0),
          std::max<int64_t>(range.most, 0)};
}

TopP::Range TopP::last_up_to_p() const {
  Range range{0, 0, 0};  // the first word stays whatever its sum
  for (size_t i = 1; i < kept_; ++i) {
    range.least += sums_[i] + errors_[i] <= p_ ? 1 : 0;
    range.likely += sums_[i] <= p_ ? 1 : 0;
    range.most += sums_[i] - errors_[i] <= p_ ? 1 : 0;
  }
  return range;
}

TopP::Pick TopP::drawn(double draw, bool counts_equal) const {
  const Range& end = below_p_;
  const auto sum = [&](int64_t i) { return sums_[static_cast<size_t>(i)]; };
  const auto error = [&](int64_t i) { return errors_[static_cast<size_t>(i)]; };
  const double likely = sum(end.likely) * draw;
  const double least = (sum(end.least) - error(end.least)) * draw * (1 - kDrawError);
  const double most = (sum(end.most) + error(end.most)) * draw * (1 + kDrawError);
  Range rank;
  for (size_t i = 0; i < sums_.size(); ++i) {
    rank.least += sums_[i] + errors_[i] < least ? 1 : 0;
    rank.likely += sums_[i] < likely || (counts_equal && sums_[i] == likely) ? 1 : 0;
    rank.most += sums_[i] - errors_[i] <= most ? 1 : 0;
  }
  const int64_t last = static_cast<int64_t>(sums_.size()) - 1;
  return {std::min(rank.likely, last), rank.least == rank.most && rank.most <= last && !has_nan_};
}

TopP::Pick TopP::best_of(std::span<const double> divisors, DType dtype) const {
  // Probabilities that do not stay count as 0, and a quotient of 0 is the best one only where all are.
  const double near = 1 - 2 * unit_roundoff(dtype);
  size_t best = 0;
  double best_score = -1;
  bool is_clear = !has_nan_;
  std::vector<double> scores(sums_.size());
  std::vector<bool> may_stay(sums_.size()), stays(sums_.size());
  for (size_t i = 0; i < sums_.size(); ++i) {
    may_stay[i] = i < kept_ && sums_[i] - errors_[i] <= p_;
    stays[i] = i < kept_ && sums_[i] + errors_[i] <= p_;
    const bool is_likely = i < kept_ && sums_[i] <= p_;
    scores[i] = rounded_to(dtype, sorted_[i] / divisors[i]);
    const double score = is_likely ? scores[i] : rounded_to(dtype, 0 / divisors[i]);
    is_clear = is_clear && !std::isnan(score);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (i == best) {
      is_clear = is_clear && (best_score == 0 || stays[i]);
    } else if (may_stay[i] && scores[i] >= best_score * near && scores[i] > 0) {
      is_clear = false;
    }
  }
  return {static_cast<int64_t>(best), is_clear};
}

TopP::Log TopP::log(int64_t rank, bool is_up_to_p) const {
  const Range& end = is_up_to_p ? up_to_p_ : below_p_;
  const bool is_clear = end.least == end.most && !has_nan_;
  if (rank > end.likely) return {kDropped, 0, is_clear};
  const double u = unit_of_arithmetic(DType::f32);
  const auto last = static_cast<size_t>(end.likely);
  const double value = std::log(probability(rank) / sums_[last]);
  // The quotient and the logarithm in f32, and the sum before or after its rounding.
  return {value, as_allowed(errors_[last] / sums_[last] + 2 * u + 4 * u * std::abs(value)), is_clear};
}

}  // namespace assay
