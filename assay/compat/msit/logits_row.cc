#include "assay/compat/msit/logits_row.h"

#include "assay/compat/msprobe/row.h"

#include <cmath>

namespace assay {

LogitsColumns::LogitsColumns(const Head& head)
    : cosine(find_column(head, "cosine_logits")),
      kl(find_column(head, "kl")),
      l1(find_column(head, "l1_logits")),
      mine_max(find_column(head, "mine_max")),
      golden_max(find_column(head, "golden_max")),
      mine_nan(find_column(head, "mine_nan")),
      mine_inf(find_column(head, "mine_inf")),
      golden_nan(find_column(head, "golden_nan")),
      golden_inf(find_column(head, "golden_inf")) {}

double distance_of_maxima(const Comparison& row, const LogitsColumns& columns) {
  const auto mine = static_cast<float>(metric(row, columns.mine_max).value_or(0));
  const auto golden = static_cast<float>(metric(row, columns.golden_max).value_or(0));
  return static_cast<double>(std::abs(golden - mine));
}

double ulp_of_maximum(const Comparison& row, const LogitsColumns& columns, DType dtype) {
  const auto largest = static_cast<float>(metric(row, columns.mine_max).value_or(0));
  // The logarithm of the original is a single one: just below 2^23 it says 23.
  const auto exponent = static_cast<float>(std::log2(static_cast<double>(largest)));
  const int fraction_bits = dtype == DType::bf16 ? 7 : dtype == DType::f16 ? 10 : 23;
  return static_cast<double>(static_cast<float>(std::exp2(std::floor(exponent))) *
                             static_cast<float>(std::ldexp(1.0, -fraction_bits)));
}

}  // namespace assay
