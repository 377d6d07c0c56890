#include "assay/judge/flips.h"

#include "assay/judge/rule_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

bool differs_in_choice(const Comparison& row) {
  return direction_of(row) == Direction::output && row.verdict.level == Level::fail &&
         row.basis == Basis::data && row.mine.meta && row.golden.meta && !is_real(row.mine.meta->dtype) &&
         !is_real(row.golden.meta->dtype);
}

double number_at(const Comparison& row, int column, double otherwise = 0) {
  if (column < 0 || column >= std::ssize(row.metrics)) return otherwise;
  return number_in(row.metrics[static_cast<size_t>(column)]).value_or(otherwise);
}

// Few candidates are that close to each other: where most of many choices differ, something else is wrong.
constexpr double kMostFlips = 0.5;

}  // namespace

FlipTeller::FlipTeller(const Head& head, bool names_calls)
    : names_calls_(names_calls),
      max_column_(find_column(head, "max_abs")),
      rms_column_(find_column(head, "golden_rms")),
      equal_column_(find_column(head, "equal_ratio")) {}

// Of candidates that were closer to each other than rounding, one run took one and the other the other: what
// was chosen differs, though all that the choice was made of agrees, and so does what is at the places
// chosen. A quantisation chooses between neighbouring steps.
void FlipTeller::tell(NodeResult& node) const {
  if (std::ranges::none_of(node.rows, differs_in_choice)) return;
  const OpKind kind = names_calls_ ? kind_of_entry(node.name) : node.place.kind;
  if (kind != OpKind::selection && kind != OpKind::quantise) return;
  bool has_values = false;
  double margin = 0, rms = 0;
  bool agree = false;
  for (const Comparison& row : node.rows) {
    if (row.basis != Basis::data || !row.mine.meta || !is_real(row.mine.meta->dtype)) continue;
    if (row.verdict.level != Level::pass) return;
    agree = true;
    has_values |= direction_of(row) == Direction::output;
    margin = std::max(margin, number_at(row, max_column_));
    rms = std::max(rms, number_at(row, rms_column_));
  }
  if (!agree || margin == 0) return;
  for (Comparison& row : node.rows) {
    if (!differs_in_choice(row)) continue;
    const double steps = rms > 0 ? margin * number_at(row, rms_column_) / rms : 0;
    if (kind == OpKind::quantise && number_at(row, max_column_) > 1 + steps) continue;
    const bool is_one = row.golden.meta->shape.count() == 1;
    if (kind == OpKind::selection && !has_values && !is_one && number_at(row, equal_column_, 1) < kMostFlips)
      continue;
    row.verdict.is_flip = true;
    row.verdict.reason = fmt::format("a flip: inputs agree{}, within {:.3g}; {}",
                                     has_values ? ", and so do the values at the places chosen" : "", margin,
                                     row.verdict.reason);
  }
}

}  // namespace assay
