#include "assay/compat/msprobe/rules_tensor.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr double kEpsilon = 2.220446049250313e-16;  // 2^-52: at or below it a norm counts as zero

}  // namespace

std::string remarks(const Comparison& row, const MsprobeColumns& columns, Generation generation,
                    bool is_scalar) {
  std::string out;
  if (!is_scalar && row.mine.meta->shape.count() > 1 && std::isnan(metric(row, columns.cosine).value_or(0))) {
    const bool mine_zero = metric(row, columns.mine_norm).value_or(0) <= kEpsilon;
    const bool golden_zero = metric(row, columns.golden_norm).value_or(0) <= kEpsilon;
    out += mine_zero     ? "Cannot compare by Cosine Similarity, All the data is Zero in npu dump data."
           : golden_zero ? "Cannot compare by Cosine Similarity, All the data is Zero in Bench dump data."
                         : "Cannot compare by Cosine Similarity, the dump data has NaN.";
  }
  if (is_scalar && std::isnan(scalar_max_abs(row, columns)))
    out += fmt::format("Cannot compare by {}, the data contains nan/inf/-inf in dump data.",
                       generation == Generation::g1 ? "MaxRelativeError" : "MaxAbsError");
  if (std::isnan(is_scalar ? scalar_max_rel(row, columns, generation)
                           : metric(row, columns.max_rel).value_or(0)))
    out += "Cannot compare by MaxRelativeError, the data contains nan/inf/-inf in dump data.";
  return out;
}

std::string_view accuracy(double cosine, double max_abs) {
  if (cosine < 0.99 && max_abs > 0.001) return "No";
  if (cosine < 0.9 || max_abs > 1) return "No";
  return "Yes";
}

Verdict judge_measured(const Comparison& row, const MsprobeColumns& columns, Generation generation) {
  Verdict verdict;
  if (row.mine.meta->shape.count() == 1) {
    verdict.reason =
        generation == Generation::g1 ? "This tensor is scalar." : "This is a 1-d tensor of length 1.";
    verdict.word = "None";
    verdict.level = Level::ignored;
  } else {
    verdict.word = accuracy(printed_cosine(metric(row, columns.cosine).value_or(1), generation),
                            rounded(metric(row, columns.max_abs).value_or(0), 12));
    verdict.level = verdict.word == "No" ? Level::fail : Level::pass;
  }
  verdict.reason += remarks(row, columns, generation, false);
  return verdict;
}

bool without_checksums(const Comparison& row) {
  const auto is_without = [](const SideFacts& side) {
    return side.item != nullptr && side.item->meta != nullptr &&
           (stated_of(side).checksum.empty() || stands_for_nan(stated_of(side)));
  };
  return is_without(row.mine) && is_without(row.golden);
}

}  // namespace assay
