#include "assay/compat/msit/rules.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kOtherShape = "data shape doesn't match.";

// All of them: NaN goes through max and min, an infinity is one of them.
bool is_finite(const SideFacts& side) {
  if (!side.measured) return true;
  for (const Value& value : {side.measured->max, side.measured->min})
    if (const auto* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number))
      return false;
  return true;
}

std::string reason_of(const Comparison& row) {
  if (row.status == Status::unreadable || row.status == Status::no_data) return row.note;
  if (row.basis == Basis::stated) {  // statistics are held against each other whatever the shapes
    const bool says_nothing = std::all_of(row.metrics.begin(), row.metrics.end(), [](const Value& value) {
      return std::holds_alternative<std::monostate>(value);
    });
    return says_nothing ? "only statistics were dumped." : "";
  }
  std::string reason;
  const auto add = [&](std::string_view text) { reason += (reason.empty() ? "" : " ") + std::string(text); };
  if (row.status == Status::shape_mismatch) add(kOtherShape);
  if (!is_finite(row.golden)) add("golden_data includes NAN or inf.");
  if (!is_finite(row.mine)) add("my_data includes NAN or inf.");
  return reason;
}

Judge prepare_msit(const Head&, const RuleOptions&) {
  return [](NodeResult& node) {
    for (Comparison& row : node.rows) {
      row.verdict = {};
      if (row.status == Status::only_mine || row.status == Status::only_golden) {
        row.verdict.level = Level::ignored;
        continue;
      }
      row.verdict.reason = reason_of(row);
      if (row.verdict.reason.empty()) continue;
      row.evidence = Evidence::nothing;  // msit leaves out all numbers of such a row
      row.verdict.level = row.status == Status::unreadable ? Level::error : Level::fail;
    }
  };
}

}  // namespace

const RuleSet msit_rules = {"msit", prepare_msit};

}  // namespace assay
