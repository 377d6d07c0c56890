#include "assay/report/rows.h"

#include "assay/model/detail.h"
#include "assay/report/verdict_sentence.h"

#include <fmt/format.h>

namespace assay {
namespace {

Value text_or_absent(const std::string& text) { return text.empty() ? Value() : Value(text); }

}  // namespace

PlacedRow::PlacedRow(const RowPlace& place)
    : section_(place.section), name_(place.node), mine_(place.mine), golden_(place.golden) {
  node_.name = name_;
  Comparison row = place.row;
  row.mine.name = mine_;
  row.golden.name = golden_;
  node_.rows.push_back(std::move(row));
}

std::vector<Fact> run_facts(const Head& head) {
  std::vector<Fact> facts = {
      {"assay", head.version},
      {"generated", iso_time(head.now)},
      {"command", text_or_absent(head.command_line)},
      {"mine", head.mine.native()},
      {"golden", head.golden.native()},
      {"mine_layout", text_or_absent(head.mine_layout)},
      {"golden_layout", text_or_absent(head.golden_layout)},
      {"matcher", text_or_absent(head.matcher)},
      {"rules", text_or_absent(head.rules.empty() ? head.rule_set : head.rules)},
  };
  if (head.order_is_by_name) facts.push_back({"order", "by name"});
  return facts;
}

std::vector<Fact> summary_facts(const Summary& summary) {
  const VerdictSentence verdict = verdict_sentence(summary);
  std::vector<Fact> facts = {
      {"answer", std::string(text(verdict.answer))},
      {"verdict", verdict.text()},
      {"rows", summary.rows},
      {"compared", summary.compared},
      {"not_compared", summary.rows - summary.compared},
      {"left_out", summary.left_out},
  };
  for (const EvidenceColumn& column : kEvidenceColumns)
    facts.push_back({std::string(column.title), summary.rows_by(column.evidence)});
  const Fact rest[] = {
      {"passed", summary.passed},
      {"failed", summary.failed},
      {"unmatched", summary.unmatched},
      {"ignored", summary.ignored},
      {"errors", summary.errors},
      {"stopped_early", summary.stopped_early},
      {"first_error", summary.first_error ? Value(*summary.first_error) : Value()},
  };
  facts.insert(facts.end(), std::begin(rest), std::end(rest));
  if (const auto& place = summary.first_unmatched)
    facts.push_back({"first_unmatched", place->mine.empty() ? place->golden : place->mine});
  if (summary.by_content > 0) {
    facts.push_back({"paired_by_content", summary.by_content});
    facts.push_back({"unsure_pairs", summary.unsure});
  }
  if (summary.judged_coarser > 0) facts.push_back({"judged_coarser", summary.judged_coarser});
  if (summary.within_noise > 0) facts.push_back({"within_noise", summary.within_noise});
  if (summary.introduced > 0) facts.push_back({"introduced", summary.introduced});
  if (summary.flips > 0) facts.push_back({"flips", summary.flips});
  if (summary.follow_flips > 0) facts.push_back({"follow_flips", summary.follow_flips});
  if (summary.cut > 0) facts.push_back({"cut", summary.cut});
  if (summary.rearranged > 0) facts.push_back({"rearranged", summary.rearranged});
  if (summary.other_type > 0) facts.push_back({"other_type_on_rank", summary.other_type});
  if (summary.other_rank > 0) facts.push_back({"other_rank", summary.other_rank});
  if (summary.values_equal + summary.values_differ + summary.values_alone > 0) {
    facts.push_back({"values_equal", summary.values_equal});
    facts.push_back({"values_differ", summary.values_differ});
    facts.push_back({"values_alone", summary.values_alone});
  }
  if (summary.values_nonfinite > 0) facts.push_back({"values_nonfinite", summary.values_nonfinite});
  if (!summary.selection.empty()) facts.push_back({"selection", summary.selection});
  return facts;
}

std::string_view explanation(const Comparison& row) {
  if (!row.verdict.reason.empty()) return row.verdict.reason;
  if (!row.note.empty()) return row.note;
  return text(row.status);
}

std::string diagnosis(const Comparison& row) {
  const bool is_wrong = row.verdict.level == Level::fail || row.verdict.level == Level::error;
  return is_wrong && row.detail ? row.detail->sentence() : std::string();
}

std::string with_diagnosis(std::string_view words, const Comparison& row) {
  const std::string found = diagnosis(row);
  if (words.empty() || found.empty()) return found.empty() ? std::string(words) : found;
  return fmt::format("{}; {}", words, found);
}

}  // namespace assay
