#include "assay/report/page/page_columns.h"

#include "assay/report/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace assay {
namespace {

Value port_of(const RowView& view) {
  if (is_beside(view.row)) return "value";
  switch (direction_of(view.row)) {
    case Direction::none:
      return {};
    case Direction::input:
      return "input";
    case Direction::output:
      return "output";
    case Direction::parameter:
      return "parameter";
    case Direction::parameter_gradient:
      return "gradient";
  }
  return {};
}

Value type_of(const RowView& view) {
  for (const SideFacts* side : {&view.row.mine, &view.row.golden})
    if (!side->op_type.empty()) return std::string(side->op_type);
  return {};
}

Value within_of(const RowView& view) {
  for (const SideFacts* side : {&view.row.mine, &view.row.golden})
    if (!side->within.empty()) return std::string(side->within);
  return {};
}

// Where its inputs come from, where a graph says it: [[input, node, its output], …].
Value sources_of(const RowView& view) {
  std::string out;
  for (const InputSource& source : view.node.sources)
    if (source.kind == InputSource::Kind::result)
      out += fmt::format("{}[{},{},{}]", out.empty() ? '[' : ',', source.port, source.node, source.output);
  return out.empty() ? Value() : Value(out + ']');
}

// Wrappers of the recorder and of the framework say nothing of the model.
bool is_of_framework(std::string_view frame) {
  constexpr std::string_view kFolders[] = {"/site-packages/", "/dist-packages/", "/msprobe/", "/torch/",
                                           "/mindspore/"};
  return std::ranges::any_of(
      kFolders, [&](std::string_view folder) { return frame.find(folder) != std::string_view::npos; });
}

// Where the user's program called it: the innermost line of the stack that is its own, else the innermost of
// all.
Value called_at(const RowView& view) {
  const auto& stack = view.node.stack;
  if (stack.empty()) return {};
  const auto own = std::ranges::find_if_not(stack, is_of_framework);
  std::string text(own != stack.end() ? *own : stack.front());
  std::ranges::replace(text, '\n', ' ');  // the line of the program stands below its place
  return text;
}

void append_numbers(std::string& out, std::span<const double> numbers) {
  out += '[';
  for (const double& number : numbers) {
    if (&number != numbers.data()) out += ',';
    append_json(out, number);
  }
  out += ']';
}

// The values around the worst element: [index of the first, [of mine], [of golden]].
Value near_of(const RowView& view) {
  if (!view.row.near || view.row.near->count <= 0) return {};
  const Neighbours& near = *view.row.near;
  const size_t count = static_cast<size_t>(near.count);
  std::string out = fmt::format("[{},", near.first);
  append_numbers(out, std::span(near.mine).first(count));
  out += ',';
  append_numbers(out, std::span(near.golden).first(count));
  return out + ']';
}

// More digits would double the size of a page, and no picture shows them. They are exact in all other
// reports.
constexpr int kDigits = 9;

void append_cell(std::string& out, const Value& value) {
  const auto* const number = std::get_if<double>(&value);
  if (number != nullptr && std::isfinite(*number))
    fmt::format_to(std::back_inserter(out), "{:.{}g}", *number, kDigits);
  else
    append_json(out, value);
}

Value allowed(float error) { return error < 0 ? Value() : Value(double{error}); }

std::string_view text(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::text:
    case ColumnKind::written:
      return "text";
    case ColumnKind::number:
      return "number";
    case ColumnKind::shape:
      return "shape";
    case ColumnKind::verdict:
      return "verdict";
  }
  return "text";
}

}  // namespace

std::vector<Column> page_only_columns() {
  return {
      {".order", [](const RowView& v) -> Value { return v.node.order; }, ColumnKind::number},
      {".port", port_of},
      {".layers", [](const RowView& v) -> Value { return int64_t{v.node.place.layers_before}; },
       ColumnKind::number},
      {".type", type_of},
      {".within", within_of},
      {".node", [](const RowView& v) -> Value { return int64_t{v.node.index}; }, ColumnKind::number},
      {".sources", sources_of, ColumnKind::shape},
      {".near", near_of, ColumnKind::shape},
      {".bound", [](const RowView& v) { return allowed(v.row.verdict.allowed.relative); },
       ColumnKind::number},
      {".own", [](const RowView& v) { return allowed(v.row.verdict.allowed.own); }, ColumnKind::number},
      {".inherited", [](const RowView& v) { return allowed(v.row.verdict.allowed.inherited); },
       ColumnKind::number},
      {".called_at", called_at},
  };
}

void append_page_row(std::string& out, const std::vector<Column>& columns, const RowView& row) {
  for (const Column& column : columns) {
    out += &column == columns.data() ? '[' : ',';
    const Value value = cell_value(column, row);
    // The text of a shape is a JSON array already.
    if (const auto* shape = std::get_if<std::string>(&value); shape && column.kind == ColumnKind::shape)
      out += *shape;
    else
      append_cell(out, value);
  }
  out += ']';
}

void append_page_columns(std::string& out, const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    out += &column == columns.data() ? "[{\"title\": " : ", {\"title\": ";
    append_json_text(out, column.title);
    out += fmt::format(", \"kind\": \"{}\"}}", text(column.kind));
  }
  out += ']';
}

}  // namespace assay
