#include "assay/report/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

Value text_or_absent(std::string_view text) { return text.empty() ? Value() : Value(std::string(text)); }

Value dtype_of(const SideFacts& side) {
  return side.meta ? Value(std::string(name(side.meta->dtype))) : Value();
}

Value shape_of(const SideFacts& side) { return side.meta ? Value(side.meta->shape.text()) : Value(); }

// A row that was not compared has no metrics; a column that was not measured has none anywhere (index -1).
Value metric_of(const Comparison& row, int index) {
  return index >= 0 && index < std::ssize(row.metrics) ? row.metrics[static_cast<size_t>(index)] : Value();
}

// Where the worst element is: a number in row-major order helps nobody who looks for it.
Value worst_place(const Comparison& row, int index) {
  Value value = metric_of(row, index);
  const auto* const flat = std::get_if<int64_t>(&value);
  if (flat == nullptr || !row.mine.meta || *flat < 0 || *flat >= row.mine.meta->shape.count()) return value;
  return coordinates(row.mine.meta->shape, *flat);
}

std::vector<Column> columns(const Head& head) {
  std::vector<Column> out = {
      {"section", [](const RowView& v) { return text_or_absent(v.section); }},
      {"name", [](const RowView& v) { return text_or_absent(v.node.name); }},
      {"mine", [](const RowView& v) { return text_or_absent(v.row.mine.name); }},
      {"golden", [](const RowView& v) { return text_or_absent(v.row.golden.name); }},
      {"verdict", [](const RowView& v) { return text_or_absent(text(v.row.verdict.level)); },
       ColumnKind::verdict},
      {"status", [](const RowView& v) { return text_or_absent(text(v.row.status)); }},
      {"mine_dtype", [](const RowView& v) { return dtype_of(v.row.mine); }},
      {"golden_dtype", [](const RowView& v) { return dtype_of(v.row.golden); }},
      {"mine_shape", [](const RowView& v) { return shape_of(v.row.mine); }, ColumnKind::shape},
      {"golden_shape", [](const RowView& v) { return shape_of(v.row.golden); }, ColumnKind::shape},
  };
  for (const std::string& metric : head.shown_columns) {
    // JSON keys and SQL columns must not repeat.
    if (std::any_of(out.begin(), out.end(), [&](const Column& c) { return c.title == metric; })) continue;
    if (metric == "worst_index") {
      out.push_back(
          {metric,
           [index = find_column(head, metric)](const RowView& v) { return worst_place(v.row, index); },
           ColumnKind::shape});
      continue;
    }
    out.push_back({metric,
                   [index = find_column(head, metric)](const RowView& v) { return metric_of(v.row, index); },
                   ColumnKind::number});
  }
  out.push_back({"why", [](const RowView& v) { return text_or_absent(text(v.row.pair.why)); }});
  out.push_back({"reason", [](const RowView& v) {
                   return v.row.detail ? text_or_absent(with_diagnosis(v.row.verdict.reason, v.row))
                                       : text_or_absent(v.row.verdict.reason);
                 }});
  out.push_back({"note", [](const RowView& v) { return text_or_absent(v.row.note); }});
  out.push_back({"compared_by", [](const RowView& v) { return text_or_absent(text(v.row.evidence)); }});
  return out;
}

}  // namespace

const Profile native_profile = {
    .name = "native",
    .columns = columns,
    .keeps = [](const RowView&) { return true; },
    .file_stem = [](const Head& head) { return fmt::format("assay_report_{}", local_stamp(head.now)); },
};

}  // namespace assay
