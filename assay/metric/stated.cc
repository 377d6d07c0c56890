// Differences of the statistics that two dumps state, and of those that were measured.
#include "assay/metric/families.h"

#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Four = std::array<const Scalar*, 4>;
Four four(const Stated& s) { return {&s.max, &s.min, &s.mean, &s.norm}; }

// out: the difference, and its size in percent of golden. Absent: not numbers; no percentage of 0.
void difference(const Scalar& mine, const Scalar& golden, Value& diff, Value& percent) {
  const auto n = number_of(mine), b = number_of(golden);
  if (!n || !b) return;
  const double d = *n - *b;
  diff = std::isnan(d) ? kNan : d;
  if (std::isnan(d))
    percent = kNan;
  else if (*b != 0)
    percent = std::abs(d / *b * 100);  // of two infinities: NaN, though the difference is none
}

// ----- generation 3 of msprobe: classes of values, and words where there is no difference to compute
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
  const double n = *number_of(mine), b = *number_of(golden);
  diff = n - b;
  percent = b == 0 ? infinity(true) : Value(std::abs((n - b) / b * 100));
}

Stated measured(const Gathered& g, const SideSums& side) {
  Stated stated;
  if (g.pair.finite == 0) return stated;
  stated.max = side.max;
  stated.min = side.min;
  stated.mean = std::ldexp(side.sum / static_cast<double>(g.pair.finite), -g.pair.scale);
  stated.norm = std::ldexp(std::sqrt(side.sum_squares), -g.pair.scale);
  return stated;
}

template <void (*kDifference)(const Scalar&, const Scalar&, Value&, Value&)>
void differences(const Stated& mine, const Stated& golden, std::span<Value> out) {
  const Four m = four(mine), g = four(golden);
  for (size_t i = 0; i < 4; ++i) kDifference(*m[i], *g[i], out[i], out[4 + i]);
}

template <void (*kDifference)(const Scalar&, const Scalar&, Value&, Value&)>
void differences(const Gathered& g, std::span<Value> out) {
  differences<kDifference>(measured(g, g.pair.mine), measured(g, g.pair.golden), out);
}

Value text_or_absent(std::string_view text) { return text.empty() ? Value() : Value(std::string(text)); }

}  // namespace

const Metric stat_diff_metric{"stat_diff",
                              {"max_diff", "min_diff", "mean_diff", "norm_diff", "max_diff_pct",
                               "min_diff_pct", "mean_diff_pct", "norm_diff_pct"},
                              gather::sums,
                              false,
                              "differences of max, min, mean and 2-norm, and their size in percent of golden",
                              differences<difference>,
                              differences<difference>};

const Metric stat_diff_g3_metric{
    "stat_diff_g3",
    {"max_diff_g3", "min_diff_g3", "mean_diff_g3", "norm_diff_g3", "max_diff_pct_g3", "min_diff_pct_g3",
     "mean_diff_pct_g3", "norm_diff_pct_g3"},
    gather::sums,
    false,
    "the same as msprobe 26 defines them: a word where the two are not numbers",
    differences<difference_g3>,
    differences<difference_g3>};

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
