#include "assay/report/page/still.h"

#include "assay/report/cells.h"
#include "assay/report/verdict_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr int64_t kStillRows = 500;
constexpr size_t kStillText = size_t{1} << 20;
constexpr std::array<std::string_view, 9> kStillColumns = {
    "section", "mine", "golden", "verdict", "mine_dtype", "max_abs", "rel_l2", "reason", "note"};

std::string escaped(std::string_view text) {
  std::string out;
  append_xml_text(out, text);
  return out;
}

// Enough digits to read; the others are in the page.
std::string cell_text(const Value& value) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr && std::isfinite(*number) ? fmt::format("{:.6g}", *number) : plain(value);
}

void append_place(std::string& out, std::string_view title, const RowPlace& place) {
  out += fmt::format("<p><b>{}:</b> ", title);
  if (!place.section.empty()) out += escaped(place.section) + ": ";
  out += escaped(place.mine.empty() ? place.node : place.mine);
  if (const std::string_view why = explanation(place.row); !place.row.verdict.reason.empty())
    out += " (" + escaped(why) + ")";
  out += "</p>\n";
}

}  // namespace

std::vector<size_t> StillPage::shown_columns() const {
  std::vector<size_t> shown;
  for (size_t i = 0; i < table_.columns().size(); ++i)
    if (std::ranges::find(kStillColumns, table_.columns()[i].title) != kStillColumns.end())
      shown.push_back(i);
  return shown;
}

void StillPage::add(const RowView& view) {
  const Level level = view.row.verdict.level;
  if (level != Level::fail && level != Level::error) return;
  ++failed_;
  if (failed_ > kStillRows || rows_.size() > kStillText) return;
  rows_ += fmt::format("<tr class=\"{}\">", text(level));
  for (const size_t i : shown_columns()) {
    const Column& column = table_.columns()[i];
    const Value value = cell_value(column, view);
    rows_ += std::holds_alternative<double>(value) ? "<td class=\"number\">" : "<td>";
    rows_ += escaped(cell_text(value)) + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string StillPage::html(const Summary& summary) const {
  const VerdictSentence verdict = verdict_sentence(summary);
  std::string out = fmt::format("<p class=\"sentence\"><strong>{}</strong> {}</p>\n", escaped(verdict.head),
                                escaped(verdict.rest));
  if (summary.first_error)
    out += fmt::format("<p><b>First error:</b> {}</p>\n", escaped(*summary.first_error));
  if (summary.first_divergence) append_place(out, "First divergence", *summary.first_divergence);
  if (summary.first_origin) append_place(out, "First origin", *summary.first_origin);
  out += "<dl>\n";
  for (const Fact& fact : run_facts(table_.head()))
    if (const std::string value = plain(fact.value); !value.empty())
      out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(fact.key), escaped(value));
  out +=
      "</dl>\n<noscript><p>Without JavaScript this page shows the verdict and what failed, and no "
      "more.</p></noscript>\n";
  if (rows_.empty()) return out;
  out += "<table>\n<thead><tr>";
  for (const size_t i : shown_columns()) out += "<th>" + escaped(table_.columns()[i].title) + "</th>";
  out += "</tr></thead>\n<tbody>\n" + rows_ + "</tbody></table>\n";
  const int64_t shown = std::ranges::count(rows_, '\n');
  if (shown < failed_) out += fmt::format("<p>The first {} of {} that failed.</p>\n", shown, failed_);
  return out;
}

}  // namespace assay
