#include "assay/report/report.h"

#include "assay/support/json_tape.h"

#include <fmt/format.h>

namespace assay {

Column text_column(std::string title, std::string_view (*text)(const RowView&)) {
  return {std::move(title),
          [text](const RowView& v) -> Value { return std::string(text(v)); },
          ColumnKind::text,
          {},
          text};
}

Value cell_value(const Column& column, const RowView& row) {
  Value value = column.cell(row);
  if (column.kind != ColumnKind::written) return value;
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  const auto* const number = std::get_if<double>(&value);
  if (number == nullptr) return value;
  std::string text;
  append_python_float(text, *number);
  return text.append(column.unit);
}

Result<void> ReportSet::begin(const Head& head) {
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->begin(head));
  return {};
}

Result<void> ReportSet::open_section(const Head& head) {
  section_ = head.at.text();
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->open_section(head));
  return {};
}

Result<void> ReportSet::close_section(const Summary& of_section) {
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->close_section(of_section));
  return {};
}

Result<void> ReportSet::skip_section(const Head& head, const Error& why) {
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->skip_section(head, why));
  return {};
}

std::vector<std::string> ReportSet::render(std::span<const NodeResult> nodes) const {
  std::vector<std::string> texts;
  texts.reserve(sinks_.size());
  for (const auto& sink : sinks_) texts.push_back(sink->render(section_, nodes));
  return texts;
}

Result<void> ReportSet::write(std::span<const NodeResult> nodes, std::vector<std::string>&& rendered) {
  ASSAY_CHECK(rendered.size() == sinks_.size());
  for (size_t i = 0; i < sinks_.size(); ++i)
    ASSAY_TRY_DO(sinks_[i]->write(section_, nodes, std::move(rendered[i])));
  return {};
}

Result<std::vector<fs::path>> ReportSet::end(const Summary& all) {
  Summary summary = all;
  if (!selection_.empty()) summary.selection = selection_;
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->end(summary));
  std::vector<fs::path> files;
  for (const auto& sink : sinks_) {
    ASSAY_TRY(const std::vector<fs::path> published, sink->publish());
    files.insert(files.end(), published.begin(), published.end());
  }
  for (const auto& sink : sinks_) ASSAY_TRY_DO(sink->announce(summary, files));
  return files;
}

}  // namespace assay
