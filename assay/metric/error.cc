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

// msit: elements with |g| <= 2^-23 count as 0, also for absolute errors; means over all elements.
const Metric msit_metric{"msit",
                         {"max_rel_msit", "mean_rel_msit", "max_abs_msit", "mean_abs_msit"},
                         gather::sums | gather::relative | gather::msit_errors,
                         false,
                         "errors as msit defines them: elements with |g| <= 2^-23 count as 0",
                         [](const Gathered& g, std::span<Value> out) {
                           out[0] = number_or_absent(g.relative.max_msit, any(g));
                           out[1] = number_or_absent(per_finite(g, g.relative.sum_msit), any(g));
                           out[2] = number_or_absent(g.relative.max_abs_msit, any(g));
                           out[3] = number_or_absent(per_finite(g, g.relative.sum_abs_msit), any(g));
                         }};

// msprobe: where g is zero, 2^-52 is added to both sides.
const Metric msprobe_metric{
    "msprobe",
    {"max_rel_msprobe", "ratio_1e3", "ratio_5e3"},
    gather::sums | gather::relative,
    false,
    "largest relative error as msprobe defines it, and the share of elements under 1/1000 and 5/1000",
    [](const Gathered& g, std::span<Value> out) {
      out[0] = number_or_absent(g.relative.max_msprobe, any(g));
      out[1] = number_or_absent(per_finite(g, static_cast<double>(g.relative.under_1e3)), any(g));
      out[2] = number_or_absent(per_finite(g, static_cast<double>(g.relative.under_5e3)), any(g));
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
