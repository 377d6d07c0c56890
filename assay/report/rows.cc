#include "assay/report/rows.h"

#include "assay/report/verdict_sentence.h"

namespace assay {
namespace {

Value text_or_absent(const std::string& text) { return text.empty() ? Value() : Value(text); }

}  // namespace

PlacedRow::PlacedRow(const Place& place)
    : section_(place.section), name_(place.node), mine_(place.mine), golden_(place.golden) {
  node_.name = name_;
  Comparison row = place.row;
  row.mine.name = mine_;
  row.golden.name = golden_;
  node_.rows.push_back(std::move(row));
}

std::vector<Fact> run_facts(const Head& head) {
  return {
      {"assay", head.version},
      {"generated", iso_time(head.now)},
      {"command", text_or_absent(head.command_line)},
      {"mine", head.mine.native()},
      {"golden", head.golden.native()},
      {"mine_layout", text_or_absent(head.mine_layout)},
      {"golden_layout", text_or_absent(head.golden_layout)},
      {"matcher", text_or_absent(head.matcher)},
      {"rules", text_or_absent(head.rule_set)},
  };
}

std::vector<Fact> summary_facts(const Summary& summary) {
  const VerdictSentence verdict = verdict_sentence(summary);
  const auto by = [&](Evidence evidence) { return summary.by[static_cast<size_t>(evidence)]; };
  return {
      {"answer", std::string(text(verdict.answer))},
      {"verdict", verdict.text()},
      {"rows", summary.rows},
      {"compared", summary.compared},
      {"not_compared", summary.rows - summary.compared},
      {"by_elements", by(Evidence::elements)},
      {"by_some_elements", by(Evidence::some_elements)},
      {"by_checksum", by(Evidence::checksum)},
      {"by_statistics", by(Evidence::statistics)},
      {"by_extremes", by(Evidence::extremes)},
      {"by_value", by(Evidence::value)},
      {"passed", summary.passed},
      {"failed", summary.failed},
      {"unmatched", summary.unmatched},
      {"ignored", summary.ignored},
      {"errors", summary.errors},
      {"stopped_early", summary.stopped_early},
      {"first_error", summary.first_error ? Value(*summary.first_error) : Value()},
  };
}

std::string_view explanation(const Comparison& row) {
  if (!row.verdict.reason.empty()) return row.verdict.reason;
  if (!row.note.empty()) return row.note;
  return text(row.status);
}

}  // namespace assay
