#include "assay/report/json_rows.h"

#include "assay/report/cells.h"
#include "assay/report/detail_json.h"

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

void append_number(std::string& out, std::string_view key, float number) {
  out += ", ";
  append_key(out, key);
  append_json(out, number < 0 ? Value() : Value(double{number}));
}

// As `assay explain` reads it.
void append_account(std::string& out, const Account& account, const AllowedError& allowed) {
  out += "{\"by\": ";
  append_json_text(out, text(account.basis));
  append_number(out, "allowed", allowed.relative);
  if (account.basis == Account::Basis::made) {
    append_number(out, "own", allowed.own);
    append_number(out, "inherited", allowed.inherited);
  }
  if (!account.from.empty()) {
    out += ", \"from\": ";
    append_json_text(out, account.from);
  }
  if (account.lacks_inputs) out += ", \"lacks_inputs\": true";
  if (!account.inputs.empty()) {
    out += ", \"inputs\": [";
    for (const Account::Input& input : account.inputs) {
      out += &input == account.inputs.data() ? "{\"name\": " : ", {\"name\": ";
      append_json_text(out, input.name);
      append_number(out, "error", input.error);
      append_number(out, "gain", input.gain);
      if (input.is_estimate) out += ", \"estimated\": true";
      out += '}';
    }
    out += ']';
  }
  out += '}';
}

}  // namespace

void append_json_row(std::string& out, const std::vector<Column>& columns, const RowView& row,
                     bool shows_account) {
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
  if (shows_account && row.row.account) {
    out += ", ";
    append_key(out, "account");
    append_account(out, *row.row.account, row.row.verdict.allowed);
  }
  if (row.head.shows_details && row.row.detail) {
    out += ", ";
    append_key(out, "detail");
    append_detail(out, *row.row.detail);
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
    if (const Rerun* const rerun = origin->row.rerun.get(); rerun != nullptr && rerun->is_introduced()) {
      const Fact made[] = {{"introduced", rerun->introduced}, {"times_bound", rerun->found.worst}};
      for (const Fact& fact : made) {
        out += ", ";
        append_key(out, fact.key);
        append_json(out, fact.value);
      }
    }
    if (summary.question == Question::agreement && !origin->given.empty()) {
      out += ", ";
      append_key(out, "by_trend");
      append_json(out, origin->given);
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
