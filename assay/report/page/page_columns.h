// What a page knows of a row: the columns of the report, and behind them those that only pictures need. Their
// titles begin with a dot. docs/page_data.md says what each holds.
#pragma once

#include "assay/report/rows.h"

namespace assay {

std::vector<Column> page_only_columns();
void append_page_row(std::string& out, const std::vector<Column>& columns,
                     const RowView& row);                                        // a JSON array
void append_page_columns(std::string& out, const std::vector<Column>& columns);  // [{"title": …, "kind": …}]

}  // namespace assay
