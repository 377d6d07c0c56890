// The numbers of msit llm opcheck, in the types that PyTorch computes them in.
#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msit/metric/opcheck_standard.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kSmallest = 0x1p-23;  // golden elements up to this are never wrong

struct OpcheckPass final : OwnPass {
  int64_t count = 0, rel_good = 0, abs_good = 0;
  double max_rel = 0, max_abs = 0;  // NaN where any is
  double cosine = 0, kl = 0;
};

// What PyTorch computes with where two types meet.
DType promoted(DType a, DType b) {
  if (!is_real(a) && !is_real(b)) return DType::f32;
  if (!is_real(a)) return b;
  if (!is_real(b)) return a;
  if (a == b) return a;
  return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
}

double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f64:
      return value;
    case DType::f16:
      return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case DType::bf16:
      return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    default:
      return static_cast<float>(value);
  }
}

void take_larger(double& most, double value) {
  if (std::isnan(most)) return;
  if (std::isnan(value) || value > most) most = value;
}

// Both tensors, block by block, as f64.
template <class Use>
Result<void> for_pairs(const Operand& mine, const Operand& golden, Use use) {
  Scratch of_mine, of_golden;
  std::vector<double> m, g;
  const int64_t count = mine.meta.shape.count();
  for (int64_t first = 0; first < count; first += kBlockElements) {
    const int64_t n = std::min(kBlockElements, count - first);
    ASSAY_TRY(const Block mine_block, mine.block(first, n, of_mine));
    ASSAY_TRY(const Block golden_block, golden.block(first, n, of_golden));
    m.resize(static_cast<size_t>(n));
    g.resize(static_cast<size_t>(n));
    to_f64(mine_block.dtype, mine_block.data, n, m.data());
    to_f64(golden_block.dtype, golden_block.data, n, g.data());
    for (size_t i = 0; i < m.size(); ++i) use(m[i], g[i]);
  }
  return {};
}

double cosine_of(double dot, double mine_squares, double golden_squares, bool all_zero) {
  constexpr double kLeastNorm = 1e-8;
  if (all_zero) return 1;
  const double cosine =
      dot / (std::max(std::sqrt(golden_squares), kLeastNorm) * std::max(std::sqrt(mine_squares), kLeastNorm));
  constexpr double kDecimals = 1e10;
  return std::nearbyint(cosine * kDecimals) / kDecimals;
}

Result<std::shared_ptr<const OwnPass>> run_opcheck(const Operand& mine, const Operand& golden) {
  const auto pass = std::make_shared<OpcheckPass>();
  const DType type = promoted(mine.meta.dtype, golden.meta.dtype);
  const double tolerance = opcheck_standard(mine.meta.dtype).tolerance;
  double dot = 0, mine_squares = 0, golden_squares = 0;
  double mine_peak = -std::numeric_limits<double>::infinity(), golden_peak = mine_peak;
  bool any_nan = false;
  ASSAY_TRY_DO(for_pairs(mine, golden, [&](double m, double g) {
    ++pass->count;
    double rel = 0, apart = 0;
    if (std::abs(g) > kSmallest) {
      rel = std::abs(rounded(type, rounded(type, rounded(type, m) / rounded(type, g)) - 1));
      apart = std::abs(m - g);
    }
    pass->rel_good += rel <= tolerance;
    pass->abs_good += apart <= tolerance;
    take_larger(pass->max_rel, rel);
    take_larger(pass->max_abs, apart);
    dot += m * g;
    mine_squares += m * m;
    golden_squares += g * g;
    any_nan |= std::isnan(m) || std::isnan(g);
    mine_peak = std::max(mine_peak, m);
    golden_peak = std::max(golden_peak, g);
  }));
  pass->cosine = cosine_of(dot, mine_squares, golden_squares, mine_squares == 0 && golden_squares == 0);
  double mine_sum = 0, golden_sum = 0, kl = 0;
  ASSAY_TRY_DO(for_pairs(mine, golden, [&](double m, double g) {
    mine_sum += std::exp(m - mine_peak);
    golden_sum += std::exp(g - golden_peak);
  }));
  const double log_mine_sum = std::log(mine_sum);
  ASSAY_TRY_DO(for_pairs(mine, golden, [&](double m, double g) {
    const double p = std::exp(g - golden_peak) * (1 / golden_sum);  // as PyTorch does, to the last digit
    kl += (p == 0 ? 0 : p * std::log(p)) - p * (m - mine_peak - log_mine_sum);
  }));
  pass->kl = any_nan ? std::nan("") : std::isnan(kl) ? kl : std::max(kl, 0.0);
  return std::shared_ptr<const OwnPass>(pass);
}

// As f32 divides, and as Python multiplies.
double percent(int64_t part, int64_t whole) {
  return static_cast<double>(static_cast<float>(part) / static_cast<float>(whole)) * 100;
}

}  // namespace

const Metric opcheck_metric{"opcheck",
                            {"opcheck_rel_rate", "opcheck_max_rel", "opcheck_abs_rate", "opcheck_max_abs",
                             "opcheck_cosine", "opcheck_kl"},
                            0,
                            false,
                            "as msit llm opcheck: shares of elements within its relative and absolute limits "
                            "in percent, the largest errors, cosine, KL divergence",
                            [](const Gathered& g, std::span<Value> out) {
                              const auto* const pass =
                                  static_cast<const OpcheckPass*>(g.own_pass_by(run_opcheck));
                              if (pass == nullptr || pass->count == 0) return;
                              out[0] = percent(pass->rel_good, pass->count);
                              out[1] = pass->max_rel;
                              out[2] = percent(pass->abs_good, pass->count);
                              out[3] = pass->max_abs;
                              out[4] = pass->cosine;
                              out[5] = pass->kl;
                            },
                            nullptr,
                            nullptr,
                            run_opcheck};

}  // namespace assay
