// Workbooks in the form of other tools: bare sheets, without a summary of ours.
#include "assay/compat/msit/profile.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/sample_rows.h"
#include "assay/report/xlsx_test_tools.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFirstSheet = "xl/worksheets/sheet1.xml";

std::map<std::string, std::string> workbook_of(const MsprobeStyle& style,
                                               const std::vector<NodeResult>& nodes) {
  const TestFolder folder;
  const Profile profile = msprobe_profile(style);
  const auto sink = find_output("xlsx")->open({.folder = folder.path(), .profile = &profile});
  const auto files = run_sink(*sink, msprobe_head(Content::statistics), nodes);
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? std::map<std::string, std::string>() : parts_of(files[0]);
}

TEST(BareWorkbook, HasOneSheetAndNoSummary) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  auto parts = workbook_of({}, {node_of("a", {pair.row}), node_of("b", {pair.row})});
  EXPECT_THAT(parts["xl/workbook.xml"],
              HasSubstr("<sheets><sheet name=\"Sheet1\" sheetId=\"1\" r:id=\"rId1\"/></sheets>"));
  EXPECT_EQ(parts.count("xl/worksheets/sheet2.xml"), 0u);
  const std::string& rows = parts[kFirstSheet];
  EXPECT_THAT(rows, HasSubstr("<dimension ref=\"A1:AA3\""));  // 27 columns
  EXPECT_EQ(count_of(rows, "<row>"), 3);
  EXPECT_THAT(rows, Not(HasSubstr("autoFilter")));
  EXPECT_THAT(rows, HasSubstr("<row><c s=\"5\" t=\"inlineStr\"><is><t>NPU Name</t></is></c>"));
  EXPECT_THAT(rows, HasSubstr("<c t=\"b\"><v>1</v></c>"));  // Requires_grad Consistent
}

TEST(BareWorkbook, ColouredOnesHavePlainTitlesAndWholeRowsOfOneColour) {
  MsprobePair plain("Torch.a.0.forward.input.0"), red("Torch.a.0.forward.output.0"),
      yellow("Torch.a.0.forward.output.1");
  red.row.verdict.paint = Paint::red;
  red.mine.max = HUGE_VAL;
  yellow.row.verdict.paint = Paint::yellow;
  auto parts = workbook_of({.coloured = true}, {node_of("a", {plain.row, red.row, yellow.row})});
  EXPECT_THAT(parts["xl/workbook.xml"], HasSubstr("<sheet name=\"Sheet\" sheetId=\"1\" r:id=\"rId1\"/>"));
  const std::string& rows = parts[kFirstSheet];
  EXPECT_THAT(rows, HasSubstr("<row><c t=\"inlineStr\"><is><t>NPU Name</t></is></c>"));
  EXPECT_EQ(count_of(rows, "<c s=\"6\""), 27);
  EXPECT_EQ(count_of(rows, "<c s=\"7\""), 27);
  EXPECT_EQ(count_of(rows, "<c s="), 2 * 27);
  EXPECT_THAT(rows, HasSubstr("<c s=\"6\" t=\"inlineStr\"><is><t xml:space=\"preserve\">inf\t</t></is></c>"));
  EXPECT_THAT(rows, HasSubstr("<is><t>True</t></is>"));
  const std::string& styles = parts["xl/styles.xml"];
  EXPECT_THAT(styles, HasSubstr("<fgColor rgb=\"FFFF0000\"/>"));
  EXPECT_THAT(styles, HasSubstr("<fgColor rgb=\"00FFFF00\"/>"));
}

TEST(BareWorkbook, HasItsTitlesWithoutRows) {
  auto parts = workbook_of({}, {});
  EXPECT_EQ(count_of(parts[kFirstSheet], "<row>"), 1);
  EXPECT_THAT(parts["xl/workbook.xml"], HasSubstr("\"Sheet1\""));
}

// msit has its three sheets whatever there is to show.
TEST(BareWorkbook, HasAllSheetsWithoutSections) {
  const TestFolder folder;
  const Profile profile = msit_profile({.is_sheets = true});
  const auto sink = find_output("xlsx")->open({.folder = folder.path(), .profile = &profile});
  ASSERT_TRUE(sink->begin(sample_head()));
  ASSERT_TRUE(sink->end({}));
  const auto files = sink->publish();
  ASSERT_TRUE(files);
  auto parts = parts_of(files->front());
  EXPECT_THAT(parts["xl/workbook.xml"],
              HasSubstr("<sheets><sheet name=\"layer\" sheetId=\"1\" r:id=\"rId1\"/>"
                        "<sheet name=\"module\" sheetId=\"2\" r:id=\"rId2\"/>"
                        "<sheet name=\"api\" sheetId=\"3\" r:id=\"rId3\"/></sheets>"));
  for (const int number : {1, 2, 3}) {
    const std::string& sheet = parts[fmt::format("xl/worksheets/sheet{}.xml", number)];
    EXPECT_EQ(count_of(sheet, "<row>"), 1);
    EXPECT_THAT(sheet, HasSubstr("<t>token_id</t>"));
  }
}

// Batches of a thousand rows, each with the number of its batch, through a workbook of another tool.
std::map<std::string, std::string> workbook_of_batches(int batches, bool says_how_many) {
  const TestFolder folder;
  Profile profile = native_profile;
  profile.columns = [](const Head&) {
    return std::vector{text_column("x", [](const RowView& row) { return row.node.name; })};
  };
  profile.print = Print::python;
  profile.sheet = "Sheet1";
  if (says_how_many) profile.row_count = [](const Head& head) { return head.pairs; };
  const auto sink = find_output("xlsx")->open({.folder = folder.path(), .profile = &profile});
  Head head = sample_head();
  head.pairs = int64_t{batches} * 1000;
  EXPECT_TRUE(sink->begin(head));
  for (int i = 0; i < batches; ++i) {
    const std::string name = std::to_string(i);
    const NodeResult node = node_of(name, std::vector<Comparison>(1000));
    EXPECT_TRUE(sink->write("", {&node, 1}, sink->render("", {&node, 1})));
  }
  EXPECT_TRUE(sink->end({}));
  const auto files = sink->publish();
  EXPECT_TRUE(files);
  return files ? parts_of(files->front()) : std::map<std::string, std::string>();
}

// 1,048,500 rows are the most a sheet gets.
TEST(BareWorkbook, SpillsIntoFurtherSheets) {
  auto parts = workbook_of_batches(1050, false);
  EXPECT_THAT(parts["xl/workbook.xml"],
              HasSubstr("<sheets><sheet name=\"part_0\" sheetId=\"1\" r:id=\"rId1\"/>"
                        "<sheet name=\"part_1\" sheetId=\"2\" r:id=\"rId2\"/></sheets>"));
  EXPECT_THAT(parts[kFirstSheet].substr(0, 200), HasSubstr("<dimension ref=\"A1:A1048501\""));
  const std::string& second = parts["xl/worksheets/sheet2.xml"];
  EXPECT_THAT(second.substr(0, 200), HasSubstr("<dimension ref=\"A1:A1501\""));
  EXPECT_EQ(count_of(second, "<row>"), 1501);
  EXPECT_THAT(second.substr(0, 400), HasSubstr("<t>x</t>"));  // titles in every sheet
  EXPECT_EQ(count_of(parts["[Content_Types].xml"], "worksheet+xml"), 2);
}

// As pandas slices it for msprobe: 1,051,000 rows are two sheets of 525,500.
TEST(BareWorkbook, SharesRowsOutEvenly) {
  auto parts = workbook_of_batches(1051, true);
  const std::string &first = parts[kFirstSheet], &second = parts["xl/worksheets/sheet2.xml"];
  EXPECT_EQ(count_of(first, "<row>"), 525'501);
  EXPECT_EQ(count_of(second, "<row>"), 525'501);
  EXPECT_EQ(count_of(first, "<t>525</t>"), 500);  // the batch that is cut in two
  EXPECT_EQ(count_of(second, "<t>525</t>"), 500);
  EXPECT_EQ(count_of(second, "<t>1050</t>"), 1000);
  EXPECT_THAT(parts["xl/workbook.xml"], HasSubstr("\"part_1\""));
  EXPECT_THAT(workbook_of_batches(3, true)["xl/workbook.xml"], HasSubstr("\"Sheet1\""));
}

}  // namespace
}  // namespace assay
