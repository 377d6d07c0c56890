#include "assay/metric/families.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {

Value number_or_absent(double value, bool defined) {
  if (!defined) return std::monostate{};
  return value;
}

// Σab / (√Σaa · √Σbb). Absent when one side is all zeros; two tensors of zeros point the same way as any.
const Metric cosine_metric{"cosine",
                           {"cosine"},
                           gather::sums,
                           true,
                           "cosine of the angle between the two tensors",
                           [](const Gathered& g, std::span<Value> out) {
                             const double aa = g.pair.mine.sum_squares, bb = g.pair.golden.sum_squares;
                             const double value = g.pair.dot / (std::sqrt(aa) * std::sqrt(bb));
                             if (g.pair.finite > 0 && aa == 0 && bb == 0)
                               out[0] = 1.0;
                             else
                               out[0] = number_or_absent(std::clamp(value, -1.0, 1.0), aa > 0 && bb > 0);
                           }};

// √(Σdd / Σbb). Absent when golden is all zeros and mine is not.
const Metric rel_l2_metric{"rel_l2",
                           {"rel_l2"},
                           gather::sums,
                           true,
                           "relative Euclidean distance ‖m-g‖ / ‖g‖",
                           [](const Gathered& g, std::span<Value> out) {
                             const double dd = g.pair.diff_squares, bb = g.pair.golden.sum_squares;
                             out[0] = number_or_absent(dd == 0 ? 0 : std::sqrt(dd / bb),
                                                       g.pair.finite > 0 && (bb > 0 || dd == 0));
                           }};

// The definition of ait before June 2024: without the root.
const Metric rel_l2_squared_metric{"rel_l2_squared",
                                   {"rel_l2_squared"},
                                   gather::sums,
                                   false,
                                   "‖m-g‖² / ‖g‖², the definition of ait before June 2024",
                                   [](const Gathered& g, std::span<Value> out) {
                                     const double dd = g.pair.diff_squares, bb = g.pair.golden.sum_squares;
                                     out[0] = number_or_absent(dd == 0 ? 0 : dd / bb,
                                                               g.pair.finite > 0 && (bb > 0 || dd == 0));
                                   }};

const Metric l2_metric{"l2",
                       {"l2"},
                       gather::sums,
                       false,
                       "Euclidean distance ‖m-g‖",
                       [](const Gathered& g, std::span<Value> out) {
                         out[0] = number_or_absent(std::ldexp(std::sqrt(g.pair.diff_squares), -g.pair.scale),
                                                   g.pair.finite > 0);
                       }};

// 10 log10(Σbb / Σdd); infinite where nothing differs.
const Metric sqnr_metric{"sqnr",
                         {"sqnr"},
                         gather::sums,
                         false,
                         "signal to quantisation noise ratio in dB",
                         [](const Gathered& g, std::span<Value> out) {
                           const double dd = g.pair.diff_squares, bb = g.pair.golden.sum_squares;
                           out[0] = number_or_absent(
                               dd == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(bb / dd),
                               g.pair.finite > 0);
                         }};

// p = softmax(g), q = softmax(m) over all elements: Σ p (ln p - ln q) = Σ p (g - m) + ln Zm - ln Zg.
const Metric l1_metric{"l1",
                       {"l1", "rel_l1"},
                       gather::sums | gather::means | gather::absolutes,
                       false,
                       "sum of |m-g|, and its share of the sum of |g|",
                       [](const Gathered& g, std::span<Value> out) {
                         const PairSums& p = g.pair;
                         const bool is_zero = p.mine.sum_squares == 0 && p.golden.sum_squares == 0;
                         // Sums of |x| are gathered of logits alone where nothing else was asked for.
                         const bool is_gathered = is_zero || p.mine.sum_absolute + p.golden.sum_absolute > 0;
                         if (p.finite == 0 || !is_gathered) return;
                         out[0] = std::ldexp(p.abs_diff, -p.scale);
                         if (is_zero)
                           out[1] = 0.0;
                         else
                           out[1] = number_or_absent(p.abs_diff / p.golden.sum_absolute,
                                                     p.golden.sum_absolute > 0);
                       }};

const Metric kl_metric{"kl",
                       {"kl"},
                       gather::sums | gather::softmax,
                       false,
                       "KL divergence of the softmax of all elements",
                       [](const Gathered& g, std::span<Value> out) {
                         const SoftmaxSums& s = g.softmax;
                         // Peaks first: next to one of 1e38 the logarithm of Z would vanish.
                         const double log_ratio =
                             (s.mine_peak - s.golden_peak) + (std::log(s.mine_z) - std::log(s.golden_z));
                         const double value = s.cross / s.golden_z + log_ratio;
                         out[0] = number_or_absent(std::max(0.0, value), g.pair.finite > 0 && s.golden_z > 0);
                       }};

}  // namespace assay
