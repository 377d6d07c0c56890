// The JSON objects that the outputs json and jsonl share.
#pragma once

#include "assay/report/rows.h"

namespace assay {

// {"name": "conv1", …}: one member per column.
// shows_account: behind its columns what `assay explain` reads, where the row has an account.
void append_json_row(std::string& out, const std::vector<Column>& columns, const RowView& row,
                     bool shows_account = false);

// "assay": …, "generated": …, … "columns": […]; without braces.
void append_json_run(std::string& out, const RowTable& table);

// {"rows": 12, … "first_divergence": {…}}
void append_json_summary(std::string& out, const RowTable& table, const Summary& summary);

// Output jsonl: a line for each row, and one at the end.
std::string json_lines(const RowTable& table, std::string_view section, std::span<const NodeResult> nodes);
std::string last_json_line(const RowTable& table, const Summary& summary);

}  // namespace assay
