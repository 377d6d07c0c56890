#include "assay/metric/families.h"

#include <cmath>

namespace assay {
namespace {

double per_finite(const Gathered& g, double sum) { return sum / static_cast<double>(g.pair.finite); }
double unscaled(const Gathered& g, double value) { return std::ldexp(value, -g.pair.scale); }
bool any(const Gathered& g) { return g.pair.finite > 0; }

}  // namespace

const Metric max_abs_metric{
    "max_abs", {"max_abs"}, gather::sums, true, "largest |m-g|", [](const Gathered& g, std::span<Value> out) {
      out[0] = number_or_absent(g.pair.max_abs, any(g));
    }};

const Metric mean_abs_metric{"mean_abs",
                             {"mean_abs"},
                             gather::sums | gather::means,
                             true,
                             "mean |m-g|",
                             [](const Gathered& g, std::span<Value> out) {
                               out[0] = number_or_absent(unscaled(g, per_finite(g, g.pair.abs_diff)), any(g));
                             }};

const Metric bias_metric{"bias",
                         {"bias"},
                         gather::sums | gather::means,
                         false,
                         "mean of m-g, with its sign",
                         [](const Gathered& g, std::span<Value> out) {
                           out[0] = number_or_absent(unscaled(g, per_finite(g, g.pair.diff)), any(g));
                         }};

const Metric not_close_metric{"not_close",
                              {"not_close"},
                              gather::sums | gather::close,
                              false,
                              "elements with |m-g| > atol + rtol * |g| (--rtol, --atol; 1e-5 and 1e-8)",
                              [](const Gathered& g, std::span<Value> out) { out[0] = g.pair.not_close; }};

// Elements where golden is zero and mine is not have no relative error; rel_undefined counts them.
const Metric max_rel_metric{
    "max_rel",
    {"max_rel", "rel_undefined"},
    gather::sums | gather::relative,
    false,
    "largest |m-g| / |g| where g is not zero, and how many are left out (g zero, m not)",
    [](const Gathered& g, std::span<Value> out) {
      out[0] = number_or_absent(g.relative.max, g.relative.counted > 0);
      out[1] = g.relative.zero_golden;
    }};

const Metric mean_rel_metric{"mean_rel",
                             {"mean_rel"},
                             gather::sums | gather::relative,
                             false,
                             "mean |m-g| / |g| where g is not zero",
                             [](const Gathered& g, std::span<Value> out) {
                               out[0] =
                                   number_or_absent(per_finite(g, g.relative.sum), g.relative.counted > 0);
                             }};

const Metric abs_quantiles_metric{"abs_quantiles",
                                  {"abs_p50", "abs_p90", "abs_p99", "abs_p999"},
                                  gather::sums | gather::quantiles,
                                  false,
                                  "quantiles of |m-g|: 50, 90, 99, 99.9 % (within 0.8 %)",
                                  [](const Gathered& g, std::span<Value> out) {
                                    constexpr double kShares[] = {0.5, 0.9, 0.99, 0.999};
                                    for (size_t i = 0; i < std::size(kShares); ++i)
                                      out[i] = number_or_absent(g.abs_diff->quantile(kShares[i]), any(g));
                                  }};

const Metric worst_metric{"worst",
                          {"worst_index", "worst_mine", "worst_golden"},
                          gather::sums,
                          true,
                          "place and both values of the worst element; a mismatch of NaN or Inf comes first",
                          [](const Gathered& g, std::span<Value> out) {
                            if (g.pair.worst < 0) return;
                            out[0] = g.pair.worst / components(g.mine_dtype);
                            out[1] = g.pair.worst_mine;
                            out[2] = g.pair.worst_golden;
                          }};

}  // namespace assay
