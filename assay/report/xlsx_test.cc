#include "assay/report/sample_rows.h"
#include "assay/report/xlsx_parts.h"
#include "assay/report/xlsx_test_tools.h"

#include <fmt/format.h>

#include <limits>

namespace assay {
namespace {

TEST(XlsxReport, HoldsASummaryAndTheRows) {
  const TestFolder folder;
  Summary summary;
  summary.rows = 2;
  Comparison bad = sample_row("=cmd \xff<x>", Level::fail, std::numeric_limits<double>::quiet_NaN(), 0.25);
  auto parts = parts_of(
      write_report("xlsx", folder.path(), sample_head(),
                   {node_of("n1", {bad}), node_of("n2", {lonely_row(" y", Level::ignored)})}, summary));
  EXPECT_EQ(parts.size(), 7U);
  const std::string rows = parts["xl/worksheets/sheet2.xml"];
  EXPECT_NE(rows.find("<dimension ref=\"A1:P3\" "), std::string::npos);
  EXPECT_EQ(count_of(rows, "<row>"), 3);
  EXPECT_EQ(count_of(rows, "<c"), 16 * 3 + 16 + 1);  // cells, 16 <col> and <cols>
  EXPECT_NE(rows.find("<t>&#39;=cmd \\xff&lt;x&gt;</t>"), std::string::npos);
  EXPECT_NE(rows.find("<c s=\"2\" t=\"inlineStr\"><is><t>fail</t></is></c>"), std::string::npos);
  EXPECT_NE(rows.find("<c s=\"4\" t=\"inlineStr\"><is><t>ignored</t></is></c>"), std::string::npos);
  EXPECT_NE(rows.find("<t>nan</t></is></c><c s=\"9\"><v>0.25</v></c>"), std::string::npos);
  EXPECT_NE(rows.find("<t xml:space=\"preserve\"> y</t></is></c><c s=\"4\"/>"), std::string::npos);
  EXPECT_NE(rows.find("<autoFilter ref=\"A1:P3\"/>"), std::string::npos);
  EXPECT_NE(parts["xl/workbook.xml"].find("<sheet name=\"rows\" sheetId=\"2\" r:id=\"rId2\"/>"),
            std::string::npos);
  EXPECT_NE(parts["xl/worksheets/sheet1.xml"].find("<t>rows</t></is></c><c><v>2</v></c>"), std::string::npos);
}

// A format has two conditions: small numbers of both signs need two formats.
TEST(XlsxReport, GivesNegativeNumbersAFormatOfTheirOwn) {
  const TestFolder folder;
  auto parts = parts_of(write_report("xlsx", folder.path(), sample_head(),
                                     {node_of("n", {sample_row("a", Level::fail, -2.5, 0.25)})}, {}));
  EXPECT_NE(parts["xl/worksheets/sheet2.xml"].find("<c s=\"13\"><v>-2.5</v></c><c s=\"9\"><v>0.25</v></c>"),
            std::string::npos);
  const std::string& styles = parts["xl/styles.xml"];
  EXPECT_EQ(count_of(styles, "<xf numFmtId=\"165\""), 4);
  EXPECT_NE(styles.find("numFmtId=\"165\" formatCode=\"[&gt;-0.001]0.000E+00;0.0000##\""), std::string::npos);
}

TEST(XlsxReport, HasEachKeyOfTheSummaryOnce) {
  const TestFolder folder;
  const Comparison bad = sample_row("x", Level::fail, 0.5, 0.25);
  Summary summary;
  summary.rows = 1;
  summary.first_divergence = summary.first_origin = RowPlace{"rank 0", "n1", "x", "x", "net.py", bad};
  auto parts = parts_of(write_report("xlsx", folder.path(), sample_head(), {node_of("n1", {bad})}, summary));
  const std::string& sheet = parts["xl/worksheets/sheet1.xml"];
  for (const char* const key : {"verdict", "mine", "golden", "first_divergence_verdict",
                                "first_divergence_mine", "first_origin_name", "first_origin_called_at"})
    EXPECT_EQ(count_of(sheet, fmt::format("<row><c s=\"1\" t=\"inlineStr\"><is><t>{}</t>", key)), 1) << key;
}

// Large batches are deflated in render(), small ones are collected in write(): all must come out in order.
TEST(XlsxReport, KeepsTheOrderOfLargeAndSmallBatches) {
  const TestFolder folder;
  std::vector<NodeResult> nodes;
  const std::string big(300, 'b');
  for (int i = 0; i < 20; ++i)
    nodes.push_back(
        node_of(i % 2 == 0 ? "small" : "large",
                std::vector<Comparison>(i % 2 == 0 ? 1 : 2000, sample_row(big, Level::pass, i, 0))));
  auto parts = parts_of(write_report("xlsx", folder.path(), sample_head(), nodes, {}));
  const std::string& rows = parts["xl/worksheets/sheet2.xml"];
  EXPECT_EQ(count_of(rows, "<row>"), 1 + 10 + 20'000);
  size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = rows.find(fmt::format("<c s=\"8\"><v>{}</v></c><c s=\"8\"><v>0</v></c>", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(XlsxCell, WritesWholeNumbersThatADoubleCannotHoldAsText) {
  std::string out;
  append_xlsx_cell(out, int64_t{1} << 53, XlsxStyle::plain);
  append_xlsx_cell(out, (int64_t{1} << 53) + 1, XlsxStyle::plain);
  append_xlsx_cell(out, true, XlsxStyle::plain);
  EXPECT_EQ(out,
            "<c><v>9007199254740992</v></c><c t=\"inlineStr\"><is><t>9007199254740993</t></is></c><c "
            "t=\"b\"><v>1</v></c>");
}

TEST(XlsxColumnLetters, CountInBase26WithoutZero) {
  EXPECT_EQ(xlsx_column_letters(1), "A");
  EXPECT_EQ(xlsx_column_letters(26), "Z");
  EXPECT_EQ(xlsx_column_letters(27), "AA");
  EXPECT_EQ(xlsx_column_letters(702), "ZZ");
  EXPECT_EQ(xlsx_column_letters(703), "AAA");
}

}  // namespace
}  // namespace assay
