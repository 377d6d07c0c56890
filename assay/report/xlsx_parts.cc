#include "assay/report/xlsx_parts.h"

#include "assay/report/cells.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kXml = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
constexpr std::string_view kMain = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kRelations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
constexpr std::string_view kPackage = "http://schemas.openxmlformats.org/package/2006";
constexpr std::string_view kTypes = "application/vnd.openxmlformats-officedocument.spreadsheetml";

constexpr int64_t kExactInteger = int64_t{1} << 53;  // a spreadsheet computes with doubles

// s="3", where the style is not the plain one.
std::string_view style_attribute(XlsxStyle style) {
  static constexpr std::string_view kAttributes[] = {
      "",         " s=\"1\"", " s=\"2\"",  " s=\"3\"",  " s=\"4\"",  " s=\"5\"",  " s=\"6\"",  " s=\"7\"",
      " s=\"8\"", " s=\"9\"", " s=\"10\"", " s=\"11\"", " s=\"12\"", " s=\"13\"", " s=\"14\"", " s=\"15\""};
  return kAttributes[static_cast<size_t>(style)];
}

void append_text_cell(std::string& out, std::string_view text, XlsxStyle style,
                      Breaks breaks = Breaks::shown) {
  constexpr std::string_view kSpace = " \t\n";
  out.append("<c").append(style_attribute(style)).append(" t=\"inlineStr\"><is><t");
  const bool edge = !text.empty() && (kSpace.find(text.front()) != std::string_view::npos ||
                                      kSpace.find(text.back()) != std::string_view::npos);
  out += edge ? " xml:space=\"preserve\">" : ">";
  append_sheet_text(out, text, breaks);
  out += "</t></is></c>";
}

template <class T>
void append_number_cell(std::string& out, T number, XlsxStyle style) {
  out.append("<c").append(style_attribute(style)).append("><v>");
  append_number(out, number);
  out += "</v></c>";
}

// openpyxl stores 16 significant digits.
void append_sixteen_digits(std::string& out, double number, XlsxStyle style) {
  out.append("<c").append(style_attribute(style));
  char text[40];
  out.append("><v>").append(text, fmt::format_to(text, FMT_COMPILE("{:.16g}"), number)) += "</v></c>";
}

void append_python_cell(std::string& out, const Value& value, XlsxStyle style, Print print) {
  const bool as_text = print == Print::python_as_text;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool is_infinity = as_text && (*text == "inf" || *text == "-inf" || *text == "nan");
    append_text_cell(out, is_infinity ? *text + '\t' : *text, style, Breaks::kept);
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (std::isfinite(*number))
      append_sixteen_digits(out, *number, style);
    else if (as_text)
      append_text_cell(out, plain(value) + '\t', style, Breaks::kept);
    else if (std::isinf(*number))
      append_text_cell(out, plain(value), style);
    else
      out += fmt::format("<c{}/>", style_attribute(style));
  } else if (const auto* truth = std::get_if<bool>(&value); truth != nullptr && as_text) {
    append_text_cell(out, *truth ? "True" : "False", style);
  } else if (std::holds_alternative<std::monostate>(value) && as_text) {
    append_text_cell(out, "None", style);
  } else {
    append_xlsx_cell(out, value, style);
  }
}

int width_of(const Column& column) {
  switch (column.kind) {
    case ColumnKind::number:
      return 13;
    case ColumnKind::shape:
      return 18;
    case ColumnKind::verdict:
      return 9;
    case ColumnKind::text:
    case ColumnKind::written:
      break;
  }
  static constexpr std::string_view kWide[] = {"name", "mine", "golden", "reason", "note"};
  return std::find(std::begin(kWide), std::end(kWide), column.title) != std::end(kWide) ? 40 : 14;
}

}  // namespace

std::string xlsx_column_letters(size_t number) {
  std::string out;
  for (; number > 0; number = (number - 1) / 26)
    out.insert(out.begin(), static_cast<char>('A' + (number - 1) % 26));
  return out;
}

void append_xlsx_cell(std::string& out, const Value& value, XlsxStyle style, Print print) {
  if (print != Print::native) return append_python_cell(out, value, style, print);
  if (const auto* text = std::get_if<std::string>(&value)) {
    append_text_cell(out, *text, style);
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (std::isfinite(*number))
      append_number_cell(out, *number, style);
    else
      append_text_cell(out, plain(value), style);
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    if (-kExactInteger <= *whole && *whole <= kExactInteger)
      append_number_cell(out, *whole, style);
    else
      append_text_cell(out, plain(value), style);
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    out += fmt::format("<c{} t=\"b\"><v>{}</v></c>", style_attribute(style), *truth ? 1 : 0);
  } else if (style == XlsxStyle::plain) {
    out += "<c/>";  // keeps the place
  } else {
    out += fmt::format("<c{}/>", style_attribute(style));
  }
}

void append_xlsx_text(std::string& out, std::string_view text, XlsxStyle style, Print print) {
  append_text_cell(out, text, style, print == Print::native ? Breaks::shown : Breaks::kept);
}

std::string xlsx_sheet_size(const XlsxSheet& sheet) {
  const std::string place = fmt::format("\"A1:{}{}\"", sheet.last_cell_column, sheet.last_row);
  return fmt::format("{}<worksheet xmlns=\"{}\"><dimension ref={:<20}/>", kXml, kMain, place);
}

std::string xlsx_rows_start(const std::vector<Column>& columns, Print print) {
  if (print != Print::native) {
    std::string bare = "<sheetData><row>";
    const XlsxStyle header = print == Print::python ? XlsxStyle::framed_header : XlsxStyle::plain;
    for (const Column& column : columns) append_text_cell(bare, column.title, header);
    return bare + "</row>";
  }
  std::string out =
      "<sheetViews><sheetView workbookViewId=\"0\"><pane xSplit=\"2\" ySplit=\"1\" topLeftCell=\"C2\" "
      "activePane=\"bottomRight\" "
      "state=\"frozen\"/></sheetView></sheetViews><cols>";
  for (size_t i = 0; i < columns.size(); ++i)
    out += fmt::format("<col min=\"{0}\" max=\"{0}\" width=\"{1}\" customWidth=\"1\"/>", i + 1,
                       width_of(columns[i]));
  out += "</cols><sheetData><row>";
  for (const Column& column : columns) append_text_cell(out, column.title, XlsxStyle::header);
  return out + "</row>";
}

std::string xlsx_rows_end(const XlsxSheet& sheet, Print print) {
  if (print != Print::native) return "</sheetData></worksheet>";
  return fmt::format("</sheetData><autoFilter ref=\"A1:{}{}\"/></worksheet>", sheet.last_cell_column,
                     sheet.last_row);
}

std::string_view xlsx_summary_start() {
  static const std::string kText = fmt::format(
      "{}<worksheet xmlns=\"{}\"><sheetViews><sheetView tabSelected=\"1\" "
      "workbookViewId=\"0\"/></sheetViews><cols>"
      "<col min=\"1\" max=\"1\" width=\"20\" customWidth=\"1\"/><col min=\"2\" max=\"2\" width=\"80\" "
      "customWidth=\"1\"/></cols><sheetData>",
      kXml, kMain);
  return kText;
}

std::string_view xlsx_summary_end() { return "</sheetData></worksheet>"; }

std::string_view xlsx_relations() {
  static const std::string kText = fmt::format(
      "{0}<Relationships xmlns=\"{1}/relationships\"><Relationship Id=\"rId1\" Type=\"{2}/officeDocument\" "
      "Target=\"xl/workbook.xml\"/></Relationships>",
      kXml, kPackage, kRelations);
  return kText;
}

// cellXfs stand in the order of XlsxStyle. The first two fills are fixed by the standard.
std::string_view xlsx_styles() {
  static const std::string kText = fmt::format(
      "{}<styleSheet xmlns=\"{}\">"
      "<numFmts count=\"2\"><numFmt numFmtId=\"164\" "
      "formatCode=\"[=0]0;[&lt;0.001]0.000E+00;0.0000##\"/><numFmt numFmtId=\"165\" "
      "formatCode=\"[&gt;-0.001]0.000E+00;0.0000##\"/></numFmts>"
      "<fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/></font>"
      "<font><b/><sz val=\"11\"/><name val=\"Calibri\"/></font></fonts>"
      "<fills count=\"7\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill "
      "patternType=\"gray125\"/></fill>"
      "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FFFF9999\"/></patternFill></fill>"
      "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FFFFC266\"/></patternFill></fill>"
      "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FFD9D9D9\"/></patternFill></fill>"
      "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FFFF0000\"/><bgColor "
      "rgb=\"FFFF0000\"/></patternFill></fill>"
      "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"00FFFF00\"/><bgColor "
      "rgb=\"00FFFF00\"/></patternFill></fill></fills>"
      "<borders count=\"2\"><border><left/><right/><top/><bottom/><diagonal/></border>"
      "<border><left style=\"thin\"/><right style=\"thin\"/><top style=\"thin\"/><bottom "
      "style=\"thin\"/><diagonal/></border></borders>"
      "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>"
      "<cellXfs count=\"16\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>"
      "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyFont=\"1\"/>"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"2\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"3\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"4\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
      "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"1\" xfId=\"0\" applyFont=\"1\" "
      "applyBorder=\"1\" applyAlignment=\"1\"><alignment horizontal=\"center\" vertical=\"top\"/></xf>"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"5\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
      "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"6\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
      "<xf numFmtId=\"164\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>"
      "<xf numFmtId=\"164\" fontId=\"0\" fillId=\"2\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/>"
      "<xf numFmtId=\"164\" fontId=\"0\" fillId=\"3\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/>"
      "<xf numFmtId=\"164\" fontId=\"0\" fillId=\"4\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/>"
      "<xf numFmtId=\"165\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>"
      "<xf numFmtId=\"165\" fontId=\"0\" fillId=\"2\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/>"
      "<xf numFmtId=\"165\" fontId=\"0\" fillId=\"3\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/>"
      "<xf numFmtId=\"165\" fontId=\"0\" fillId=\"4\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" "
      "applyFill=\"1\"/></cellXfs>"
      "<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
      "builtinId=\"0\"/></cellStyles></styleSheet>",
      kXml, kMain);
  return kText;
}

std::string xlsx_workbook(const std::vector<XlsxSheet>& sheets) {
  std::string list = "<sheet name=\"summary\" sheetId=\"1\" r:id=\"rId1\"/>", filters;
  for (size_t i = 0; i < sheets.size(); ++i) {
    list += fmt::format("<sheet name=\"{}\" sheetId=\"{}\" r:id=\"rId{}\"/>", sheets[i].name, i + 2, i + 2);
    // Excel keeps the range of an autofilter a second time, under this name.
    filters += fmt::format(
        "<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"{}\" "
        "hidden=\"1\">{}!$A$1:${}${}</definedName>",
        i + 1, sheets[i].name, sheets[i].last_cell_column, sheets[i].last_row);
  }
  return fmt::format(
      "{}<workbook xmlns=\"{}\" xmlns:r=\"{}\"><bookViews><workbookView "
      "activeTab=\"0\"/></bookViews><sheets>{}</sheets>"
      "<definedNames>{}</definedNames></workbook>",
      kXml, kMain, kRelations, list, filters);
}

std::string xlsx_bare_workbook(const std::vector<XlsxSheet>& sheets) {
  std::string list;
  for (size_t i = 0; i < sheets.size(); ++i)
    list += fmt::format("<sheet name=\"{0}\" sheetId=\"{1}\" r:id=\"rId{1}\"/>", sheets[i].name, i + 1);
  return fmt::format("{}<workbook xmlns=\"{}\" xmlns:r=\"{}\"><sheets>{}</sheets></workbook>", kXml, kMain,
                     kRelations, list);
}

std::string xlsx_workbook_relations(size_t sheets) {
  std::string out = fmt::format("{}<Relationships xmlns=\"{}/relationships\">", kXml, kPackage);
  for (size_t i = 1; i <= sheets; ++i)
    out +=
        fmt::format("<Relationship Id=\"rId{0}\" Type=\"{1}/worksheet\" Target=\"worksheets/sheet{0}.xml\"/>",
                    i, kRelations);
  return out +
         fmt::format("<Relationship Id=\"rId{}\" Type=\"{}/styles\" Target=\"styles.xml\"/></Relationships>",
                     sheets + 1, kRelations);
}

std::string xlsx_content_types(size_t sheets) {
  std::string out = fmt::format(
      "{}<Types xmlns=\"{}/content-types\">"
      "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
      "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
      "<Override PartName=\"/xl/workbook.xml\" ContentType=\"{}.sheet.main+xml\"/>"
      "<Override PartName=\"/xl/styles.xml\" ContentType=\"{}.styles+xml\"/>",
      kXml, kPackage, kTypes, kTypes);
  for (size_t i = 1; i <= sheets; ++i)
    out += fmt::format("<Override PartName=\"/xl/worksheets/sheet{}.xml\" ContentType=\"{}.worksheet+xml\"/>",
                       i, kTypes);
  return out + "</Types>";
}

}  // namespace assay
