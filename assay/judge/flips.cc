#include "assay/judge/flips.h"

#include "assay/judge/rule_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool has_numbers(const Comparison& row) {
  return (row.basis == Basis::data || (row.basis == Basis::stated && row.evidence == Evidence::statistics)) &&
         row.mine.meta && row.golden.meta;
}

bool differs_in_choice(const Comparison& row) {
  return direction_of(row) == Direction::output && row.verdict.level == Level::fail && has_numbers(row) &&
         !is_real(row.mine.meta->dtype) && !is_real(row.golden.meta->dtype);
}

double number_at(const Comparison& row, int column, double otherwise = 0) {
  if (column < 0 || column >= std::ssize(row.metrics)) return otherwise;
  return number_in(row.metrics[static_cast<size_t>(column)]).value_or(otherwise);
}

// How far single elements are apart, as far as the dumps say, and how large they are.
double margin_of(const Comparison& row, int column) {
  if (row.basis == Basis::data) return number_at(row, column);
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  double most = 0;
  for (const auto& which : {&Stated::max, &Stated::min})
    if (const auto a = number_of(m.*which), b = number_of(g.*which); a && b && std::isfinite(*a - *b))
      most = std::max(most, std::abs(*a - *b));
  return most;
}

double size_of(const Comparison& row, int column) {
  if (row.basis == Basis::data) return number_at(row, column);
  const auto norm = number_of(row.golden.stated()->norm);
  const auto count = static_cast<double>(std::max<int64_t>(1, row.golden.meta->shape.count()));
  return norm && std::isfinite(*norm) ? *norm / std::sqrt(count) : 0;
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
    if (!has_numbers(row) || !is_real(row.mine.meta->dtype)) continue;
    if (row.verdict.level != Level::pass) return;
    agree = true;
    has_values |= direction_of(row) == Direction::output;
    margin = std::max(margin, margin_of(row, max_column_));
    rms = std::max(rms, size_of(row, rms_column_));
  }
  if (!agree || margin == 0) return;
  for (Comparison& row : node.rows) {
    if (!differs_in_choice(row)) continue;
    const double steps = rms > 0 ? margin * size_of(row, rms_column_) / rms : 0;
    if (kind == OpKind::quantise && margin_of(row, max_column_) > 1 + steps) continue;
    const bool is_one = row.golden.meta->shape.count() == 1;
    // Statistics do not say how many differ.
    const double equal = row.basis == Basis::data ? number_at(row, equal_column_, 1) : 0;
    if (kind == OpKind::selection && !has_values && !is_one && equal < kMostFlips) continue;
    row.verdict.is_flip = true;
    row.verdict.reason = fmt::format("a flip: inputs agree{}, within {:.3g}; {}",
                                     has_values ? ", and so do the values at the places chosen" : "", margin,
                                     row.verdict.reason);
  }
}

}  // namespace assay
