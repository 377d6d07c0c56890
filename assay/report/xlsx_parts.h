// The XML of a workbook (SpreadsheetML, ECMA-376) apart from the rows themselves.
#pragma once

#include "assay/report/report.h"

#include <string>
#include <vector>

namespace assay {

// Places in the style sheet.
// The last four are those of numbers in rows of a verdict.
enum class XlsxStyle : int {
  plain,
  header,
  fail,
  error,
  ignored,
  framed_header,
  red,
  yellow,
  number,
  number_fail,
  number_error,
  number_ignored,
  // Below zero: a format knows too few conditions to tell small numbers of both signs.
  negative,
  negative_fail,
  negative_error,
  negative_ignored,
};

// A sheet of rows; the summary is not among them.
struct XlsxSheet {
  std::string name;
  std::string last_cell_column;  // "Z"
  int64_t last_row = 1;
};

std::string xlsx_column_letters(size_t number);  // 1 → "A", 27 → "AA"

// One cell: texts inline, numbers as numbers (NaN, infinities and whole numbers beyond 2^53 as texts).
void append_xlsx_cell(std::string& out, const Value& value, XlsxStyle style, Print print = Print::native);

void append_xlsx_text(std::string& out, std::string_view text, XlsxStyle style, Print print);

// The very start of a sheet. Its length does not depend on last_row: it is written twice, before and after
// the rows. Readers that stream (openpyxl) search the whole sheet for its size where it does not stand here.
std::string xlsx_sheet_size(const XlsxSheet& sheet);
// Up to and with the row of titles. Sheets that stand for those of other tools are bare: no widths, no
// filter.
std::string xlsx_rows_start(const std::vector<Column>& columns, Print print);
std::string xlsx_rows_end(const XlsxSheet& sheet, Print print);
std::string_view xlsx_summary_start();
std::string_view xlsx_summary_end();

std::string_view xlsx_relations();
std::string_view xlsx_styles();
std::string xlsx_workbook(const std::vector<XlsxSheet>& sheets);  // a summary and these
std::string xlsx_bare_workbook(const std::vector<XlsxSheet>& sheets);
std::string xlsx_workbook_relations(size_t sheets);  // of all, with the summary
std::string xlsx_content_types(size_t sheets);

}  // namespace assay
