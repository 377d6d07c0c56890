// Rounds of ATB: the table has numbers and no verdicts, so these are for the reports of our own beside it.
#include "assay/compat/msprobe/row.h"
#include "assay/compat/msprobe/rules.h"

namespace assay {
namespace {

Judge prepare(const Head& head, const RuleOptions&) {
  return [kinds = find_column(head, "nonfinite_kind_mismatch"),
          has_data = head.content == Content::data](NodeResult& node) {
    for (Comparison& row : node.rows) {
      row.verdict = {};
      if (has_data && row.basis == Basis::stated) {  // the table has no numbers of it
        row.evidence = Evidence::nothing;
        row.verdict = {Level::ignored, "only statistics were dumped"};
        continue;
      }
      if (row.status == Status::compared && metric(row, kinds).value_or(0) == 0) continue;
      row.verdict.reason = row.note;
      if (row.status == Status::compared) row.verdict.reason = "NaN or Inf stand in other places";
      row.verdict.level = row.status == Status::unreadable   ? Level::error
                          : row.pair.mine && row.pair.golden ? Level::fail
                                                             : Level::ignored;
    }
  };
}

}  // namespace

const RuleSet msprobe_atb_rules = {"msprobe_atb", prepare};

}  // namespace assay
