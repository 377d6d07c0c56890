#include "assay/metric/families.h"

#include <algorithm>
#include <limits>

namespace assay {

const Metric ulp_max_metric{"ulp_max",
                            {"ulp_max"},
                            gather::sums | gather::ulp,
                            true,
                            "largest distance in units of the last place of the coarser dtype",
                            [](const Gathered& g, std::span<Value> out) {
                              if (g.pair.finite == 0) return;
                              constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
                              out[0] = static_cast<int64_t>(std::min(g.ulp.max, kLargest));
                            }};

const Metric ulp_mean_metric{"ulp_mean",
                             {"ulp_mean"},
                             gather::sums | gather::ulp,
                             false,
                             "mean distance in ULPs",
                             [](const Gathered& g, std::span<Value> out) {
                               out[0] = number_or_absent(g.ulp.sum / static_cast<double>(g.pair.finite),
                                                         g.pair.finite > 0);
                             }};

const Metric ulp_p99_metric{"ulp_p99",
                            {"ulp_p99"},
                            gather::sums | gather::ulp | gather::ulp_quantiles,
                            false,
                            "99 % of the elements are at most this many ULPs apart (exact below 128)",
                            [](const Gathered& g, std::span<Value> out) {
                              out[0] = number_or_absent(g.ulps->quantile(0.99), g.pair.finite > 0);
                            }};

}  // namespace assay
