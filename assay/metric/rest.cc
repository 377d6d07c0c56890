#include "assay/metric/rest.h"

#include "assay/metric/families.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

namespace assay {
namespace {

using Rests = std::array<tile::Rest, kLarge.size()>;

// d: the exact differences of 64-bit integers.
tile::Rest rest_of_integers(const double* b, const double* d, int64_t n, double limit) {
  tile::Rest rest;
  for (int64_t i = 0; i < n; ++i) {
    if (!(std::abs(b[i]) < limit)) continue;
    rest.dd += d[i] * d[i];
    rest.bb += b[i] * b[i];
    ++rest.count;
  }
  return rest;
}

// Of a tile that reaches the first limit; what it is below one that it does not reach, the caller knows.
template <class T>
Rests rest_of(const T* a, const T* b, const double* d, int64_t n, bool reaches_both) {
  if constexpr (std::is_same_v<T, double>)
    if (d != nullptr)
      return {rest_of_integers(b, d, n, kLarge[0]),
              reaches_both ? rest_of_integers(b, d, n, kLarge[1]) : tile::Rest{}};
  if (reaches_both) return tile::rest(a, b, n, kLarge);
  return {tile::rest(a, b, n, kLarge[0]), {}};
}

template <class T>
void add_tile(const T* a, const T* b, const double* d, int64_t n, int64_t finite, const tile::Core& core,
              PairSums& sums) {
  const double largest = std::max(core.max_b, -core.min_b);
  Rests rests;
  if (!(largest < kLarge[0])) rests = rest_of(a, b, d, n, !(largest < kLarge[1]));
  for (size_t i = 0; i < kLarge.size(); ++i) {
    if (largest < kLarge[i]) rests[i] = {core.dd, core.bb, n};
    sums.rest[i].diff_squares += rests[i].dd;
    sums.rest[i].golden_squares += rests[i].bb;
    sums.rest[i].count += rests[i].count - (n - finite);
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

void add_rest(const float* a, const float* b, int64_t n, int64_t finite, const tile::Core& core,
              PairSums& sums) {
  add_tile(a, b, nullptr, n, finite, core, sums);
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
