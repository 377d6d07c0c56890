// Differences of the statistics that two dumps state, and of those that were measured.
#include "assay/metric/stated_differences.h"

#include "assay/metric/families.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

__extension__ using Wide = __int128;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of integers the exact difference, which doubles may not have.
double apart(const Scalar& mine, const Scalar& golden, double n, double b) {
  const auto whole = mine.integer(), other = golden.integer();
  return whole && other ? static_cast<double>(Wide{*whole} - *other) : n - b;
}

// out: the difference, and its size in percent of golden. Absent: not numbers; no percentage of 0.
void difference(const Scalar& mine, const Scalar& golden, Value& diff, Value& percent) {
  const auto n = number_of(mine), b = number_of(golden);
  if (!n || !b) return;
  const double d = apart(mine, golden, *n, *b);
  diff = std::isnan(d) ? kNan : d;
  if (std::isnan(d))
    percent = kNan;
  else if (*b != 0)
    percent = std::abs(d / *b * 100);  // of two infinities: NaN, though the difference is none
}

Value text_or_absent(std::string_view text) { return text.empty() ? Value() : Value(std::string(text)); }

}  // namespace

Stated statistics_of(const Gathered& g, const SideSums& side) {
  Stated stated;
  if (g.pair.finite == 0) return stated;
  stated.max = side.max;
  stated.min = side.min;
  stated.mean = std::ldexp(side.sum / static_cast<double>(g.pair.finite), -g.pair.scale);
  stated.norm = std::ldexp(std::sqrt(side.sum_squares), -g.pair.scale);
  return stated;
}

const Metric stat_diff_metric{"stat_diff",
                              {"max_diff", "min_diff", "mean_diff", "norm_diff", "max_diff_pct",
                               "min_diff_pct", "mean_diff_pct", "norm_diff_pct"},
                              gather::sums,
                              false,
                              "differences of max, min, mean and 2-norm, and their size in percent of golden",
                              differences<difference>,
                              differences<difference>};

const Metric checksum_metric{"checksum",
                             {"mine_checksum", "golden_checksum"},
                             gather::sums,
                             false,
                             "checksums as the dumps state them",
                             [](const Gathered&, std::span<Value>) {},
                             [](const Stated& mine, const Stated& golden, std::span<Value> out) {
                               out[0] = text_or_absent(mine.checksum);
                               out[1] = text_or_absent(golden.checksum);
                             }};

}  // namespace assay
