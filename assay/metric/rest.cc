#include "assay/metric/rest.h"

#include "assay/metric/families.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace assay {
namespace {

// Lanes and no branches, so that the compiler makes vectors of it.
template <class T>
PairSums::Rest rest_of(const T* __restrict a, const T* __restrict b, int64_t n, T large) {
  constexpr int64_t kLanes = 8;
  double dd[kLanes] = {}, gg[kLanes] = {};
  T kept[kLanes] = {};
  const auto add = [&](int64_t i, int64_t lane) {
    const T keep = std::abs(b[i]) < large ? T{1} : T{0};
    const auto golden = static_cast<double>(b[i] * keep), apart = static_cast<double>(a[i] * keep) - golden;
    dd[lane] += apart * apart;
    gg[lane] += golden * golden;
    kept[lane] += keep;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
  PairSums::Rest rest;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    rest.diff_squares += dd[lane];
    rest.golden_squares += gg[lane];
    rest.count += static_cast<int64_t>(kept[lane]);
  }
  return rest;
}

template <class T>
PairSums::Rest rest_of_integers(const T* b, const double* d, int64_t n, double large) {
  PairSums::Rest rest;
  for (int64_t i = 0; i < n; ++i) {
    const auto golden = static_cast<double>(b[i]);
    if (!(std::abs(golden) < large)) continue;
    rest.diff_squares += d[i] * d[i];
    rest.golden_squares += golden * golden;
    ++rest.count;
  }
  return rest;
}

template <class T>
void add_tile(const T* a, const T* b, const double* d, int64_t n, int64_t finite, const tile::Core& core,
              PairSums& sums) {
  for (size_t i = 0; i < kLarge.size(); ++i) {
    const double large = kLarge[i];
    const bool has_none = std::max(core.max_b, -core.min_b) < large;
    const PairSums::Rest tile = has_none       ? PairSums::Rest{core.dd, core.bb, n}
                                : d != nullptr ? rest_of_integers(b, d, n, large)
                                               : rest_of(a, b, n, static_cast<T>(large));
    sums.rest[i].diff_squares += tile.diff_squares;
    sums.rest[i].golden_squares += tile.golden_squares;
    sums.rest[i].count += tile.count - (n - finite);
  }
}

// Whether the elements below a limit drown beside the others: these are a few (massive activations), or much
// of a size (the fill of a mask), and far larger. A tensor that is large everywhere has small elements too,
// which are as wrong as its rounding makes them.
constexpr double kRare = 0.01, kOfASize = 0.5, kGap = 16;

bool drowns(const PairSums& pair, const PairSums::Rest& rest, double large) {
  const double peak = std::max(pair.golden.max, -pair.golden.min);
  if (rest.count == 0 || peak < large) return false;
  if (std::sqrt(rest.golden_squares / static_cast<double>(rest.count)) * kGap > large) return false;
  const auto others = static_cast<double>(pair.finite - rest.count);
  // The sums of all elements are those of the values times 2^scale, the rest is not: it needs no scale.
  const double scaled_peak = std::ldexp(peak, pair.scale);
  const double scaled_rest = std::ldexp(rest.golden_squares, 2 * pair.scale);
  return others <= kRare * static_cast<double>(pair.finite) ||
         pair.golden.sum_squares - scaled_rest >= kOfASize * others * scaled_peak * scaled_peak;
}

// Where all of them are zero in golden, the root mean square of mine. Absent where nothing drowns.
std::optional<double> error_of_rest(const PairSums& pair) {
  std::optional<double> worst;
  for (size_t i = 0; i < kLarge.size(); ++i) {
    const PairSums::Rest& rest = pair.rest[i];
    if (!drowns(pair, rest, kLarge[i])) continue;
    const double error = rest.golden_squares > 0
                             ? std::sqrt(rest.diff_squares / rest.golden_squares)
                             : std::sqrt(rest.diff_squares / static_cast<double>(rest.count));
    worst = std::max(worst.value_or(0), error);
  }
  return worst;
}

}  // namespace

void add_rest(const float* a, const float* b, const double* d, int64_t n, int64_t finite,
              const tile::Core& core, PairSums& sums) {
  add_tile(a, b, d, n, finite, core, sums);
}

void add_rest(const double* a, const double* b, const double* d, int64_t n, int64_t finite,
              const tile::Core& core, PairSums& sums) {
  add_tile(a, b, d, n, finite, core, sums);
}

const Metric rel_l2_rest_metric{"rel_l2_rest",
                                {"rel_l2_rest"},
                                gather::sums | gather::rest,
                                false,
                                "‖m-g‖ / ‖g‖ of the elements that others drown: |g| below 100 or 1000",
                                [](const Gathered& g, std::span<Value> out) {
                                  const auto error = error_of_rest(g.pair);
                                  out[0] = number_or_absent(error.value_or(0), error.has_value());
                                }};

}  // namespace assay
