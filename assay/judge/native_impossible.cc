#include "assay/judge/native_impossible.h"

#include "assay/model/blocks.h"
#include "assay/model/number_range.h"

#include <fmt/format.h>

namespace assay {
namespace {

// Of types that the graph engine has no numbers of it prints extremes that mean nothing (ge_stats.md).
bool has_extremes_of_its_own(const TensorMeta& meta, std::string_view layout) {
  if (layout != "torchair_ge") return true;
  return is_real(meta.dtype) && meta.dtype != DType::f64;
}

// Statistics that no tensor has. Those of blocks count what fills them up.
std::optional<std::string> impossible_numbers(const SideFacts& side, std::string_view which,
                                              std::string_view layout) {
  if (is_argument(side) || side.item == nullptr || states_blocks(*side.item)) return std::nullopt;
  if (side.meta && !has_extremes_of_its_own(*side.meta, layout)) return std::nullopt;
  const TensorMeta* const meta = side.meta ? &*side.meta : nullptr;
  const std::string why = impossible_statistics(*side.stated(), meta);
  if (why.empty()) return std::nullopt;
  return fmt::format("{}: no tensor has such statistics, the dump of {} is wrong", why, which);
}

}  // namespace

std::optional<std::string> impossible_in(const Comparison& row, const Head& head) {
  if (row.basis != Basis::stated || is_beside(row)) return std::nullopt;
  if (auto wrong = impossible_numbers(row.mine, "mine", head.mine_layout)) return wrong;
  return impossible_numbers(row.golden, "golden", head.golden_layout);
}

}  // namespace assay
