// The table of tensors that stand by themselves: there is one side, and what its numbers are.
#include "assay/report/report.h"

#include <fmt/format.h>

namespace assay {
namespace {

Value text_if_any(std::string_view text) { return text.empty() ? Value() : Value(std::string(text)); }

// What of its operator the tensor is. An output that could not be written yet says so in its reason.
Value port_text(const Comparison& row) {
  if (row.mine.item == nullptr) return {};
  const Port& port = row.mine.item->port;
  switch (port.direction) {
    case Direction::none:
      return {};
    case Direction::input:
      return fmt::format("input {}{}", port.index, row.pair.why == Why::in_place ? ", afterwards" : "");
    case Direction::output:
      return fmt::format("output {}", port.index);
    case Direction::parameter:
      return std::string("parameter");
    case Direction::parameter_gradient:
      return std::string("parameter gradient");
  }
  return {};
}

Value metric_at(const Comparison& row, int index) {
  return index >= 0 && index < std::ssize(row.metrics) ? row.metrics[static_cast<size_t>(index)] : Value();
}

std::vector<Column> columns_of_numbers(const Head& head) {
  std::vector<Column> out = {
      {"section", [](const RowView& v) { return text_if_any(v.section); }},
      {"name", [](const RowView& v) { return text_if_any(v.node.name); }},
      {"tensor", [](const RowView& v) { return text_if_any(v.row.mine.name); }},
      {"port", [](const RowView& v) { return port_text(v.row); }},
      {"verdict", [](const RowView& v) { return text_if_any(text(v.row.verdict.level)); },
       ColumnKind::verdict},
      {"dtype",
       [](const RowView& v) {
         return v.row.mine.meta ? Value(std::string(name(v.row.mine.meta->dtype))) : Value();
       }},
      {"shape",
       [](const RowView& v) { return v.row.mine.meta ? Value(v.row.mine.meta->shape.text()) : Value(); },
       ColumnKind::shape},
  };
  for (const std::string& metric : head.shown_columns)
    out.push_back({metric,
                   [index = find_column(head, metric)](const RowView& v) { return metric_at(v.row, index); },
                   ColumnKind::number});
  out.push_back({"reason", [](const RowView& v) { return text_if_any(v.row.verdict.reason); }});
  out.push_back({"note", [](const RowView& v) { return text_if_any(v.row.note); }});
  out.push_back({"seen_by", [](const RowView& v) { return text_if_any(text(v.row.evidence)); }});
  return out;
}

}  // namespace

const Profile overflow_profile = {
    .name = "overflow",
    .columns = columns_of_numbers,
    .keeps = [](const RowView&) { return true; },
    .file_stem = [](const Head& head) { return fmt::format("assay_errcheck_{}", local_stamp(head.now)); },
};

}  // namespace assay
