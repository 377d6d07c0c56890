#include "assay/report/terminal.h"

#include "assay/base/console.h"
#include "assay/base/text.h"
#include "assay/report/cells.h"
#include "assay/report/outputs.h"
#include "assay/report/rows.h"
#include "assay/report/terminal_overflow.h"
#include "assay/report/terminal_table.h"
#include "assay/report/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace assay {
namespace {

constexpr size_t kShownRows = 10, kShownNotes = 5;
constexpr size_t kTrendEachSide = 5;
constexpr size_t kMostTrends = 256;  // sections whose first failure is remembered with its surroundings
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Value& metric_of(const std::vector<Value>& metrics, int index) {
  static const Value kAbsent;
  return index >= 0 && index < std::ssize(metrics) ? metrics[static_cast<size_t>(index)] : kAbsent;
}

std::string element_value(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number && std::isfinite(*number) ? fmt::format("{:.9g}", *number) : plain(value);
}

std::string side_text(const SideFacts& side, std::string_view word) {
  return side.meta ? fmt::format("{} {} {}", word, name(side.meta->dtype), side.meta->shape.text()) : "";
}

// What was measured of the finite elements alone.
bool is_of_finite(std::string_view column) {
  return column == "max_abs" || column == "rel_l2" || column == "cosine" || column == "ulp_max" ||
         column == "mean_abs";
}

// The names of columns in a reason, the first one first.
std::vector<std::string> columns_in(std::string_view reason, const Head& head) {
  std::vector<std::string> found;
  const auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  for (size_t at = 0; at < reason.size();) {
    size_t end = at;
    while (end < reason.size() && in_word(reason[end])) ++end;
    std::string word(reason.substr(at, end - at));
    // Of statistics: "norm 3 of mine, 4 of golden".
    if (find_column(head, word) < 0 && !word.empty()) word += "_diff";
    const bool is_column = find_column(head, word) >= 0;
    if (is_column && std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
    at = end + 1;
  }
  return found;
}

}  // namespace

void TerminalReport::begin(const Head& head) {
  head_ = head;
  rel_l2_ = find_column(head, "rel_l2");
  bound_max_ = find_column(head, "bound_max");
  max_abs_ = find_column(head, "max_abs");
  norm_pct_ = find_column(head, "norm_diff_pct");
  mismatch_ = find_column(head, "nonfinite_mismatch");
  const auto add = [&](const std::string& column) {
    if (find_column(head, column) >= 0 &&
        std::find(columns_.begin(), columns_.end(), column) == columns_.end())
      columns_.push_back(column);
  };
  const auto is_shown = [&](const std::string& column) {
    return std::find(head.shown_columns.begin(), head.shown_columns.end(), column) !=
           head.shown_columns.end();
  };
  const std::vector<std::string> telling = {"max_abs", "rel_l2", "cosine", "ulp_max"};
  for (const std::string& column : telling)
    if (is_shown(column)) add(column);
  for (const std::string& column : head.shown_columns) {
    const bool describes_one_side = column.starts_with("mine_") || column.starts_with("golden_");
    if (!describes_one_side && !column.starts_with("worst_")) add(column);
  }
  for (const std::string& column : telling) add(column);
}

int TerminalReport::width() const { return text_width(head_); }

// NaN against a number is as far apart as can be.
double TerminalReport::distance_of(const Comparison& row) const {
  if (number_of(metric_of(row.metrics, mismatch_)).value_or(0) > 0) return kInfinity;
  for (const int column : {bound_max_, rel_l2_, max_abs_, norm_pct_})
    if (const auto number = number_of(metric_of(row.metrics, column)))
      return std::isnan(*number) ? kInfinity : *number;
  return 0;
}

std::string TerminalReport::name_of(std::string_view section, const NodeResult& node, const Comparison& row) {
  std::string_view name = row.mine.name.empty() ? row.golden.name : row.mine.name;
  if (name.empty()) name = node.name;
  return (section.empty() ? std::string() : fmt::format("[{}] ", shown(section))) + shown(name);
}

TerminalReport::Kept TerminalReport::keep(std::string_view section, const NodeResult& node,
                                          const Comparison& row, int rank, double distance) const {
  return {rank,       distance,    name_of(section, node, row),           row.verdict.level,
          row.status, row.metrics, columns_in(row.verdict.reason, head_), diagnosis(row)};
}

// Keeps the rows around the first failure of each section: which of them is the first of all, the summary
// says in the end.
void TerminalReport::follow(std::string_view section, const NodeResult& node, const Comparison& row) {
  if (trends_.empty() || trends_.back().section != section) {
    if (trends_.size() >= kMostTrends) return;
    trends_.push_back({.section = std::string(section)});
  }
  Trend& trend = trends_.back();
  if (trend.is_found && trend.after == kTrendEachSide) return;
  const std::string_view name = row.mine.name.empty() ? node.name : row.mine.name;
  const bool is_apart = number_of(metric_of(row.metrics, mismatch_)).value_or(0) > 0;
  const double error =
      is_apart
          ? kInfinity
          : number_of(metric_of(row.metrics, rel_l2_)).value_or(std::numeric_limits<double>::quiet_NaN());
  trend.rows.push_back({shown(name), error, row.verdict.level, false});
  if (trend.is_found) {
    ++trend.after;
  } else if (row.verdict.level == Level::fail) {
    trend.is_found = trend.rows.back().is_marked = true;
    trend.node = node.name;
    trend.mine = row.mine.name;
  } else if (trend.rows.size() > kTrendEachSide) {
    trend.rows.erase(trend.rows.begin());
  }
}

std::string TerminalReport::trend_around(const RowPlace& place) const {
  const auto found = std::find_if(trends_.begin(), trends_.end(), [&](const Trend& each) {
    return each.is_found && each.section == place.section && each.node == place.node &&
           each.mine == place.mine;
  });
  if (found == trends_.end() || found->rows.size() < 2) return {};
  return fmt::format("\nAround it, {} (bars are logarithmic):\n{}",
                     head_.order_is_by_name ? "in the order of names" : "in order",
                     trend(found->rows, width()));
}

// Of a row whose note is not what its verdict says anyway.
void TerminalReport::note(std::string_view section, const NodeResult& node, const Comparison& row) {
  const bool is_said = row.verdict.level != Level::pass && explanation(row) == row.note;
  // What was compared by statistics, the sentence says.
  // What was not checked has to say why.
  const bool is_unchecked = row.pair.is_computed() && row.verdict.level == Level::ignored;
  const bool is_idle =
      row.note.empty() || row.verdict.level == Level::ignored || is_said || row.basis != Basis::data;
  if (is_idle && !is_unchecked) return;
  const std::string text = shown(is_unchecked ? row.verdict.reason : row.note);
  std::string kind = text;
  std::erase_if(kind,
                [](char c) { return std::string_view("0123456789.,[] ").find(c) != std::string_view::npos; });
  const auto known = std::ranges::find(notes_, kind, &Note::kind);
  if (known != notes_.end()) {
    ++known->rows;
    known->varies |= known->text != text;
  } else if (notes_.size() < kShownNotes) {
    notes_.push_back({std::move(kind), text, name_of(section, node, row)});
  } else {
    ++further_notes_;
  }
}

// The first divergence has said its own.
std::string TerminalReport::notes(const Summary& summary) const {
  const std::string said = summary.first_divergence ? shown(summary.first_divergence->row.note) : "";
  std::string out;
  for (const Note& note : notes_) {
    if (note.text == said && note.rows == 1) continue;
    const std::string others = note.rows == 1 ? ""
                                              : fmt::format(" and {} more{}", note.rows - 1,
                                                            note.varies ? " (with other numbers)" : "");
    out += wrapped(fmt::format("{}{}: {}", note.name, others, note.text), width(), 2);
  }
  if (further_notes_ > 0)
    out += wrapped(fmt::format("{} more {}; --report csv has them all", further_notes_,
                               further_notes_ == 1 ? "row has a note" : "rows have notes"),
                   width(), 2);
  return out.empty() ? out : "\nNotes:\n" + out;
}

// Each text once. The first divergence has said its own.
std::string TerminalReport::diagnoses(const Summary& summary) const {
  const auto& first = summary.first_divergence;
  const std::string said = first
                               ? (first->section.empty() ? "" : fmt::format("[{}] ", shown(first->section))) +
                                     shown(first->mine.empty() ? first->golden : first->mine)
                               : "";
  std::vector<std::pair<const Kept*, int>> different;  // the first with each text, and how many more
  for (const Kept& kept : worst_) {
    if (kept.diagnosis.empty() || kept.name == said) continue;
    const auto known = std::ranges::find_if(
        different, [&](const auto& each) { return each.first->diagnosis == kept.diagnosis; });
    if (known == different.end())
      different.emplace_back(&kept, 0);
    else
      ++known->second;
  }
  std::string out;
  for (const auto& [kept, more] : different)
    out += wrapped(fmt::format("{}{}: {}", kept->name, more > 0 ? fmt::format(" and {} more", more) : "",
                               kept->diagnosis),
                   width(), 2);
  return out.empty() ? out : "\nDiagnoses:\n" + out;
}

std::string TerminalReport::other_values() const {
  std::string out;
  for (const std::string& value : values_) out += wrapped(value, width(), 2);
  if (further_values_ > 0) out += fmt::format("  {} more\n", further_values_);
  return out.empty() ? out : "\nValues beside the tensors that differ:\n" + out;
}

void TerminalReport::add(std::string_view section, std::span<const NodeResult> nodes) {
  for (const NodeResult& node : nodes)
    for (const Comparison& row : node.rows) {
      if (is_beside(row) && row.verdict.level == Level::pass) continue;
      if (is_beside(row) && row.status == Status::compared && row.evidence == Evidence::value &&
          !row.is_excused) {
        if (values_.size() < kShownRows)
          values_.push_back(fmt::format("{}: {}", name_of(section, node, row), shown(row.verdict.reason)));
        else
          ++further_values_;
        continue;
      }
      note(section, node, row);
      const bool measured = row.status == Status::compared;
      const double distance = measured ? distance_of(row) : 0;
      if (measured && row.basis == Basis::data && rel_l2_ >= 0) follow(section, node, row);
      if (row.verdict.level == Level::ignored) continue;
      if (row.verdict.level == Level::pass) {
        if (measured && (!worst_pass_ || distance > worst_pass_->distance))
          worst_pass_ = keep(section, node, row, 0, distance);
        continue;
      }
      ++bad_rows_;
      const bool is_error = row.verdict.level == Level::error;
      const bool is_alone = row.status == Status::only_mine || row.status == Status::only_golden;
      const int rank = is_error ? 4 : is_alone ? 1 : measured ? 2 : 3;
      const auto less_bad = [&](const Kept& kept) {
        return kept.rank != rank ? kept.rank < rank : kept.distance < distance;
      };
      const auto place = std::find_if(worst_.begin(), worst_.end(), less_bad);
      if (place == worst_.end() && worst_.size() == kShownRows) continue;
      worst_.insert(place, keep(section, node, row, rank, distance));
      if (worst_.size() > kShownRows) worst_.pop_back();
    }
}

std::string TerminalReport::metric_list(const std::vector<Value>& metrics,
                                        std::vector<std::string> first) const {
  std::string out;
  for (const std::string& column : columns_)
    if (std::find(first.begin(), first.end(), column) == first.end()) first.push_back(column);
  // Numbers of the finite elements took no part where NaN and infinities decided, and look perfect.
  if (number_of(metric_of(metrics, mismatch_)).value_or(0) > 0)
    std::erase_if(first, [](const std::string& column) { return is_of_finite(column); });
  for (const std::string& column : first) {
    const std::string number = brief(metric_of(metrics, find_column(head_, column)));
    if (number.empty()) continue;
    const std::string item = fmt::format("{} {}", column, number);
    const size_t line = out.rfind('\n') == std::string::npos ? out.size() : out.size() - out.rfind('\n');
    const bool fits = line + 2 + item.size() + 2 <= static_cast<size_t>(width());
    if (!out.empty()) out += fits ? "  " : "\n  ";
    out += item;
  }
  return out;
}

std::string TerminalReport::divergence(const Summary& summary) const {
  std::string out = head_.question == Question::operators ? "First wrong output: " : "First divergence: ";
  if (head_.order_is_by_name && summary.failed > 1) out = "First divergence (order unknown; first by name): ";
  out += row_in_full(*summary.first_divergence);
  constexpr size_t kMost = 4;
  const std::vector<std::string>& before = summary.unmatched_before;
  std::string names;
  for (const std::string& name : before | std::views::take(kMost))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shown(name));
  if (!before.empty())
    out += wrapped(fmt::format("unmatched before it, so that it may not be the first: {}{}", names,
                               before.size() > kMost ? ", …" : ""),
                   width(), 2);
  return out;
}

// Where nothing that was compared fails.
std::string TerminalReport::unmatched(const Summary& summary) const {
  const bool is_by_name = head_.order_is_by_name && summary.alone > 1;
  return fmt::format("First unmatched{}: {}", is_by_name ? " (order unknown; first by name)" : "",
                     row_in_full(*summary.first_unmatched));
}

std::string TerminalReport::row_in_full(const RowPlace& place) const {
  const Comparison& row = place.row;  // its names are gone; those of the place are not
  std::string out;
  if (!place.section.empty()) out += fmt::format("[{}] ", shown(place.section));
  out += names_of(place, width()) + '\n';
  const std::string mine = side_text(row.mine, "mine"), golden = side_text(row.golden, "golden");
  if (!mine.empty() || !golden.empty())
    out += fmt::format("  {}{}{}\n", mine, mine.empty() || golden.empty() ? "" : ", ", golden);
  const bool by_nonfinite = number_of(metric_of(row.metrics, mismatch_)).value_or(0) > 0;
  const std::string list =
      metric_list(row.metrics,
                  by_nonfinite ? std::vector<std::string>{"nonfinite_mismatch"} : std::vector<std::string>{});
  if (!list.empty()) out += fmt::format("  {}\n", list);

  const Value& index = metric_of(row.metrics, find_column(head_, "worst_index"));
  std::string at = plain(index);
  if (const auto* flat = std::get_if<int64_t>(&index);
      flat && row.mine.meta && *flat >= 0 && *flat < row.mine.meta->shape.count())
    at = coordinates(row.mine.meta->shape, *flat);
  if (!at.empty())
    out += fmt::format("  worst element {}: mine {}, golden {}\n", at,
                       element_value(metric_of(row.metrics, find_column(head_, "worst_mine"))),
                       element_value(metric_of(row.metrics, find_column(head_, "worst_golden"))));
  if (const auto* flat = std::get_if<int64_t>(&index)) out += neighbourhood(row, *flat, width());
  out += wrapped(shown(explanation(row)), width(), 2);
  if (const std::string found = diagnosis(row); !found.empty())
    out += wrapped(fmt::format("diagnosis: {}", found), width(), 2);
  if (row.basis == Basis::data && !row.note.empty() && row.note != explanation(row))
    out += wrapped(shown(row.note), width(), 2);
  return out;
}

std::string TerminalReport::origin(const RowPlace& place) const {
  std::string out = "First origin: ";
  if (!place.section.empty()) out += fmt::format("[{}] ", shown(place.section));
  const std::string output = shown(place.mine.empty() ? place.golden : place.mine);
  if (place.row.rerun != nullptr && place.row.rerun->is_introduced())
    out += fmt::format("{}: run again on what it was given, it does not give its output {}\n",
                       shown(place.node), output);
  else if (!place.other_arguments.empty())
    out += fmt::format(
        "{}: its input tensors pass, other arguments make its output {} differ\n{}{}", shown(place.node),
        output, first_few("  ", place.other_arguments),
        place.not_compared.empty() ? "" : first_few("  not compared before it: ", place.not_compared));
  else if (!place.given.empty())
    out += fmt::format("{}: {}; what it was computed from is not known\n", output, place.given);
  else if (place.not_compared.empty())
    out += fmt::format("{}: its inputs pass{}, its output {} does not\n", shown(place.node),
                       place.row.evidence == Evidence::statistics ? " by their statistics" : "", output);
  else
    out +=
        fmt::format("{}: what was compared of its inputs passes, its output {} does not\n{}",
                    shown(place.node), output, first_few("  not compared before it: ", place.not_compared));
  if (!place.called_at.empty()) out += fmt::format("  called at {}\n", shown(place.called_at));
  return out;
}

std::string TerminalReport::worst_table() const {
  TerminalColumn verdict{.title = "verdict"}, name{.title = "name", .flexible = true},
      status{.title = "status"};
  for (const Kept& kept : worst_) {
    verdict.cells.emplace_back(assay::text(kept.level));
    if (head_.colour) verdict.colours.emplace_back(colour_of(kept.level));
    name.cells.push_back(kept.name);
    status.cells.emplace_back(assay::text(kept.status));
  }
  std::vector<TerminalColumn> table = {std::move(verdict), std::move(name)};
  if (std::any_of(worst_.begin(), worst_.end(), [](const Kept& k) { return k.status != Status::compared; }))
    table.push_back(std::move(status));
  // What failed stands first, and what each row failed by is shown whatever the width.
  std::vector<std::string> columns, decisive;
  const auto add_new = [](std::vector<std::string>& to, const std::string& column) {
    if (std::find(to.begin(), to.end(), column) == to.end()) to.push_back(column);
  };
  for (const Kept& kept : worst_)
    if (!kept.failed_by.empty()) add_new(decisive, kept.failed_by.front());
  columns = decisive;
  for (const Kept& kept : worst_)
    for (const std::string& column : kept.failed_by)
      if (!column.starts_with("worst_") && column != "golden_rms") add_new(columns, column);
  for (const std::string& column : columns_) add_new(columns, column);
  for (const std::string& column : columns) {
    const bool is_decisive = std::find(decisive.begin(), decisive.end(), column) != decisive.end();
    TerminalColumn metric{.title = column, .right_aligned = true, .optional = !is_decisive};
    for (const Kept& kept : worst_) {
      const Value& value = metric_of(kept.metrics, find_column(head_, column));
      // Beside NaN, the numbers of the finite elements look perfect and say nothing.
      const bool is_idle =
          is_of_finite(column) && number_of(metric_of(kept.metrics, mismatch_)).value_or(0) > 0;
      metric.cells.push_back(is_idle ? "-" : brief(value));
    }
    const bool is_empty =
        std::all_of(metric.cells.begin(), metric.cells.end(), [](const auto& cell) { return cell.empty(); });
    if (!is_empty) table.push_back(std::move(metric));
  }
  return terminal_table(std::move(table), width());
}

std::string TerminalReport::other_token(const RowPlace& place) {
  const ArgMax& chosen = *place.row.arg_max;
  return fmt::format(
      "First other token: {}: mine chooses {} (ahead by {:.4g}), golden {} (ahead by {:.4g})\n",
      shown(place.section.empty() ? place.mine : place.section), chosen.mine, chosen.mine_margin,
      chosen.golden, chosen.golden_margin);
}

std::string TerminalReport::text(const Summary& summary, std::span<const fs::path> files) const {
  std::string out = sentence_line(summary, head_);
  if (summary.first_error && summary.errors > 0) {
    const std::string error = fmt::format("First error: {}", shown(*summary.first_error));
    out += head_.wraps_verdict ? wrapped(error, width(), 0) : error + '\n';
  }
  if (summary.first_divergence)
    out += '\n' + divergence(summary) + trend_around(*summary.first_divergence);
  else if (summary.first_unmatched)
    out += '\n' + unmatched(summary);
  if (summary.first_origin) out += '\n' + origin(*summary.first_origin);
  if (summary.first_other_token) out += '\n' + other_token(*summary.first_other_token);
  // One pair is printed once.
  const bool is_said = bad_rows_ == 1 && summary.first_divergence && worst_.front().rank == 2;
  if (!is_said && !worst_.empty()) {
    if (bad_rows_ > std::ssize(worst_))
      out += fmt::format("\nWorst {} of {} rows that did not pass:\n", worst_.size(), bad_rows_);
    else
      out += fmt::format("\nRows that did not pass:\n");
    out += worst_table() + diagnoses(summary);
  } else if (!is_said) {
    if (summary.first_divergence || summary.first_unmatched) out += '\n';
    out += fmt::format("{} row{}: {} compared, {} unmatched, {} ignored.\n", summary.rows,
                       summary.rows == 1 ? "" : "s", summary.compared, summary.unmatched, summary.ignored);
    if (worst_pass_ && worst_pass_->distance > 0)
      out +=
          fmt::format("Largest difference: {}\n  {}\n", worst_pass_->name, metric_list(worst_pass_->metrics));
  }
  const std::string rest = other_values() + notes(summary);
  out += rest;
  if (!files.empty() && (!worst_.empty() || !rest.empty())) out += '\n';
  for (const fs::path& file : files) out += fmt::format("Report: {}\n", display(file));
  return out;
}

namespace {

class TerminalSink : public Sink {
 public:
  Result<void> begin(const Head& head) override {
    if (head.question == Question::overflow)
      view_ = std::make_unique<OverflowView>();
    else
      view_ = std::make_unique<TerminalReport>();
    view_->begin(head);
    head_ = head;
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    view_->add(section, nodes);
    return {};
  }
  Result<void> end(const Summary&) override { return {}; }
  Result<void> announce(const Summary& summary, std::span<const fs::path> files) override {
    const auto colours = head_.colour ? console::Colours::kept : console::Colours::shown;
    auto written = console::write_text(console::Stream::out, view_->text(summary, files), colours);
    if (written) written = console::flush();
    if (!written && written.error().kind == ErrorKind::cancelled) return {};  // a reader that went away
    return written;
  }

 private:
  std::unique_ptr<TerminalView> view_;
  Head head_;
};

}  // namespace

const Output terminal_output = {
    .name = "terminal",
    .suffix = "",
    .to_stdout = true,
    .open = [](const SinkOptions&) -> std::unique_ptr<Sink> { return std::make_unique<TerminalSink>(); },
};

}  // namespace assay
