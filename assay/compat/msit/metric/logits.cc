// What `msit llm logitscmp` measures beside the KL divergence and the maxima.
#include "assay/base/text.h"
#include "assay/compat/msit/metric/metrics.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Σab / (max(‖a‖, 1e-8) · max(‖b‖, 1e-8)), rounded to 10 decimals; 1 where both sides are all zeros.
double cosine_of_logits(const PairSums& sums) {
  if (sums.mine.sum_squares == 0 && sums.golden.sum_squares == 0) return 1;
  const double least = std::ldexp(1e-8, sums.scale);  // the sums are scaled too
  const double mine = std::max(std::sqrt(sums.mine.sum_squares), least);
  const double golden = std::max(std::sqrt(sums.golden.sum_squares), least);
  return rounded(sums.dot / mine / golden, 10);
}

// Σ|a| / Σ|b| - 1: signed. Whole numbers where golden is all zeros, as the original prints them.
Value l1_of_logits(const PairSums& sums) {
  if (sums.golden.sum_absolute > 0) return sums.mine.sum_absolute / sums.golden.sum_absolute - 1;
  return sums.mine.sum_absolute > 0 ? int64_t{1} : int64_t{0};
}

}  // namespace

const Metric logits_metric{"logits",
                           {"cosine_logits", "l1_logits"},
                           gather::sums | gather::absolutes,
                           false,
                           "cosine to 10 decimals and Σ|m| / Σ|g| - 1, as msit compares logits",
                           [](const Gathered& g, std::span<Value> out) {
                             if (g.pair.finite == 0) return;
                             out[0] = cosine_of_logits(g.pair);
                             out[1] = l1_of_logits(g.pair);
                           }};

}  // namespace assay
