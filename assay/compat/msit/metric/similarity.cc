// What msit llm compare prints, where it differs from ours: docs/metrics.md
#include "assay/compat/msit/metric/metrics.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kFloatEpsilon = 0x1p-23;

double norm_of(const SideSums& side, int scale) { return std::ldexp(std::sqrt(side.sum_squares), -scale); }

// In f32, like msit's own.
void statistics_apart(double mine, double golden, std::span<Value> out) {
  const float apart = std::abs(static_cast<float>(mine) - static_cast<float>(golden));
  const float base = std::max(std::abs(static_cast<float>(golden)), static_cast<float>(kFloatEpsilon));
  out[0] = static_cast<double>(apart);
  out[1] = static_cast<double>(apart / base);
}

}  // namespace

const Metric msit_similarity_metric{
    "msit_similarity",
    {"cosine_msit", "rel_l2_msit"},
    gather::sums,
    false,
    "cosine and relative distance as msit defines them: 1 for two zeros, 0 for one; distance 0 from golden "
    "zero",
    [](const Gathered& g, std::span<Value> out) {
      if (g.pair.finite == 0) return;
      constexpr double kSmallest = 1e-8;
      const double mine = norm_of(g.pair.mine, g.pair.scale), golden = norm_of(g.pair.golden, g.pair.scale);
      const double dot = std::ldexp(g.pair.dot, -2 * g.pair.scale);
      out[0] =
          mine == 0 && golden == 0 ? 1.0 : dot / (std::max(golden, kSmallest) * std::max(mine, kSmallest));
      const double distance = std::ldexp(std::sqrt(g.pair.diff_squares), -g.pair.scale);
      out[1] = golden <= kFloatEpsilon ? 0.0 : distance / golden;
    }};

// As the statistics of two dumps differ; where both have the data, those of the data.
const Metric msit_stated_metric{
    "msit_stated",
    {"max_stat_abs", "max_stat_rel", "min_stat_abs", "min_stat_rel", "mean_stat_abs", "mean_stat_rel",
     "norm_stat_abs", "norm_stat_rel"},
    gather::sums,
    false,
    "absolute and relative differences of max, min, mean and norm as msit llm compare --stats prints them",
    [](const Gathered& g, std::span<Value> out) {
      if (g.pair.finite == 0) return;
      const auto mean = [&g](const SideSums& side) {
        return std::ldexp(side.sum, -g.pair.scale) / static_cast<double>(g.pair.finite);
      };
      const SideSums &mine = g.pair.mine, &golden = g.pair.golden;
      statistics_apart(mine.max, golden.max, out.subspan(0, 2));
      statistics_apart(mine.min, golden.min, out.subspan(2, 2));
      statistics_apart(mean(mine), mean(golden), out.subspan(4, 2));
      statistics_apart(norm_of(mine, g.pair.scale), norm_of(golden, g.pair.scale), out.subspan(6, 2));
    },
    [](const Stated& mine, const Stated& golden, std::span<Value> out) {
      const Scalar* const pairs[][2] = {{&mine.max, &golden.max},
                                        {&mine.min, &golden.min},
                                        {&mine.mean, &golden.mean},
                                        {&mine.norm, &golden.norm}};
      for (size_t i = 0; i < 4; ++i) {
        const auto m = number_of(*pairs[i][0]), g = number_of(*pairs[i][1]);
        if (m && g) statistics_apart(*m, *g, out.subspan(2 * i, 2));
      }
    }};

}  // namespace assay
