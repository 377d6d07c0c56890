#include "assay/report/json_rows.h"

#include "assay/report/cells.h"

namespace assay {
namespace {

void append_key(std::string& out, std::string_view key) {
  append_json_text(out, key);
  out += ": ";
}

// Left out where there is nothing to list.
void append_list(std::string& out, std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out += ", ";
  append_key(out, key);
  out += '[';
  for (const std::string& name : names) {
    if (&name != &names.front()) out += ", ";
    append_json(out, Value(name));
  }
  out += ']';
}

}  // namespace

void append_json_row(std::string& out, const std::vector<Column>& columns, const RowView& row) {
  out += '{';
  bool first = true;
  for (const Column& column : columns) {
    if (!first) out += ", ";
    first = false;
    append_key(out, column.title);
    const Value value = column.cell(row);
    // The text of a shape is a JSON array already.
    if (const auto* shape = std::get_if<std::string>(&value); shape && column.kind == ColumnKind::shape)
      out += *shape;
    else
      append_json(out, value);
  }
  out += '}';
}

void append_json_run(std::string& out, const RowTable& table) {
  const Head& head = table.head();
  const auto text = [&](std::string_view key, std::string_view value) {
    append_key(out, key);
    append_json_text(out, value);
    out += ", ";
  };
  text("assay", head.version);
  text("generated", iso_time(head.now));
  text("command", head.command_line);
  text("mine", head.mine.native());
  text("golden", head.golden.native());
  out += "\"layouts\": {\"mine\": ";
  append_json_text(out, head.mine_layout);
  out += ", \"golden\": ";
  append_json_text(out, head.golden_layout);
  out += "}, ";
  text("matcher", head.matcher);
  text("rules", head.rules.empty() ? head.rule_set : head.rules);
  if (head.order_is_by_name) text("order", "by name");
  out += "\"columns\": [";
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (i > 0) out += ", ";
    append_json_text(out, table.columns()[i].title);
  }
  out += ']';
}

void append_json_summary(std::string& out, const RowTable& table, const Summary& summary) {
  out += '{';
  for (const Fact& fact : summary_facts(summary)) {
    append_key(out, fact.key);
    append_json(out, fact.value);
    out += ", ";
  }
  append_key(out, "first_divergence");
  if (summary.first_divergence) {
    const PlacedRow place(*summary.first_divergence);
    append_json_row(out, table.columns(), place.view(table.head()));
  } else {
    out += "null";
  }
  out += ", ";
  append_key(out, "first_origin");
  if (const auto& origin = summary.first_origin) {
    out += '{';
    const Fact facts[] = {{"section", origin->section},
                          {"name", origin->node},
                          {"mine", origin->mine},
                          {"golden", origin->golden},
                          {"called_at", origin->called_at}};
    for (const Fact& fact : facts) {
      if (&fact != facts) out += ", ";
      append_key(out, fact.key);
      append_json(out, fact.value);
    }
    append_list(out, "not_compared", origin->not_compared);
    append_list(out, "other_arguments", origin->other_arguments);
    out += '}';
  } else {
    out += "null";
  }
  if (const auto& token = summary.first_other_token) {
    out += ", ";
    append_key(out, "first_other_token");
    out += '{';
    const ArgMax& chosen = *token->row.arg_max;
    const Fact facts[] = {{"section", token->section},
                          {"mine", token->mine},
                          {"golden", token->golden},
                          {"argmax_mine", chosen.mine},
                          {"argmax_golden", chosen.golden},
                          {"margin_mine", chosen.mine_margin},
                          {"margin_golden", chosen.golden_margin}};
    for (const Fact& fact : facts) {
      if (&fact != facts) out += ", ";
      append_key(out, fact.key);
      append_json(out, fact.value);
    }
    out += '}';
  }
  out += '}';
}

std::string json_lines(const RowTable& table, std::string_view section, std::span<const NodeResult> nodes) {
  std::string out;
  table.each(section, nodes, [&](const RowView& row) {
    append_json_row(out, table.columns(), row);
    out += '\n';
  });
  return out;
}

std::string last_json_line(const RowTable& table, const Summary& summary) {
  std::string out = "{\"summary\": ";
  append_json_summary(out, table, summary);
  out += ", \"run\": {";
  append_json_run(out, table);
  return out + "}}\n";
}

}  // namespace assay
