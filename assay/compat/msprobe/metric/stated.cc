// Differences of statistics as msprobe defines them, to the last digit. Those of version 26 know classes of
// values, and words where there is no difference to compute.
#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/compat/msprobe/metric/pandas_number.h"
#include "assay/metric/stated_differences.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

enum class Kind : uint8_t { nan, plus_inf, minus_inf, number, device, other };

Kind kind_of(const Scalar& scalar) {
  if (const auto text = scalar.text()) {
    for (const std::string_view device : {"npu", "cpu", "cuda"})
      if (text->find(device) != std::string_view::npos) return Kind::device;
  }
  const auto value = number_of(scalar);
  if (!value) return Kind::other;
  if (std::isnan(*value)) return Kind::nan;
  if (std::isinf(*value)) return *value > 0 ? Kind::plus_inf : Kind::minus_inf;
  return Kind::number;
}

bool same_text(const Scalar& a, const Scalar& b) {
  const auto x = a.real(), y = b.real();
  if (x && y) return std::isnan(*x) ? std::isnan(*y) : *x == *y && std::signbit(*x) == std::signbit(*y);
  return a == b;
}

bool is_missing(const Scalar& scalar) { return scalar.text() == "N/A"; }

void difference_g3(const Scalar& mine, const Scalar& golden, Value& diff, Value& percent) {
  if (same_text(mine, golden)) {
    diff = percent = int64_t{0};
    return;
  }
  const Kind m = kind_of(mine), g = kind_of(golden);
  const auto both = [&](Value value) {
    diff = value;
    percent = std::move(value);
  };
  const auto is_inf = [](Kind kind) { return kind == Kind::plus_inf || kind == Kind::minus_inf; };
  if ((m == Kind::device && g == Kind::device) || is_missing(mine) || is_missing(golden)) return;
  if (m == Kind::device || g == Kind::device || m == Kind::other || g == Kind::other)
    return both(std::string("Diff"));
  if (m == Kind::nan || g == Kind::nan) return both(kNan);
  // Words: a percentage that overflows is a number to the rules, an infinity that stands for itself is not.
  const auto infinity = [](bool positive) { return Value(std::string(positive ? "inf" : "-inf")); };
  if (is_inf(m)) return both(infinity(m == Kind::plus_inf));
  if (is_inf(g)) return both(infinity(g == Kind::minus_inf));
  const double n = *pandas_number(mine), b = *pandas_number(golden);
  diff = n - b;
  percent = b == 0 ? infinity(true) : Value(std::abs((n - b) / b * 100));
}

// Only the difference is one of numbers as pandas reads them: what it is divided by is golden itself.
void difference_g2(const Scalar& mine, const Scalar& golden, Value& diff, Value& percent) {
  const auto n = pandas_number(mine), b = pandas_number(golden);
  if (!n || !b) return;
  const double d = *n - *b;
  diff = std::isnan(d) ? kNan : d;
  if (std::isnan(d))
    percent = kNan;
  else if (*b != 0)
    percent = std::abs(d / *number_of(golden) * 100);
}

}  // namespace

const Metric stat_diff_g2_metric{
    "stat_diff_g2",
    {"max_diff_g2", "min_diff_g2", "mean_diff_g2", "norm_diff_g2", "max_diff_pct_g2", "min_diff_pct_g2",
     "mean_diff_pct_g2", "norm_diff_pct_g2"},
    gather::sums,
    false,
    "stat_diff to the digits of msprobe 8, whose tables read statistics through pandas",
    differences<difference_g2>,
    differences<difference_g2>};

const Metric stat_diff_g3_metric{
    "stat_diff_g3",
    {"max_diff_g3", "min_diff_g3", "mean_diff_g3", "norm_diff_g3", "max_diff_pct_g3", "min_diff_pct_g3",
     "mean_diff_pct_g3", "norm_diff_pct_g3"},
    gather::sums,
    false,
    "the same as msprobe 26 defines them: a word where the two are not numbers",
    differences<difference_g3>,
    differences<difference_g3>};

}  // namespace assay
