// Workbooks in the form of other tools: bare sheets, without a summary of ours.
#include "assay/report/msprobe_sample_rows.h"
#include "assay/report/profile_msprobe.h"
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

// 1,048,500 rows are the most a sheet gets. The same thousand rows are written over and over.
TEST(BareWorkbook, SpillsIntoFurtherSheets) {
  const TestFolder folder;
  Profile profile = native_profile;
  profile.columns = [](const Head&) {
    return std::vector{text_column("x", [](const RowView&) { return std::string_view("y"); })};
  };
  profile.print = Print::python;
  profile.sheet = "Sheet1";
  const auto sink = find_output("xlsx")->open({.folder = folder.path(), .profile = &profile});
  const NodeResult node = node_of("a", std::vector<Comparison>(1000));
  ASSERT_TRUE(sink->begin(sample_head()));
  const std::string rendered = sink->render("", {&node, 1});
  for (int i = 0; i < 1050; ++i) ASSERT_TRUE(sink->write("", {&node, 1}, std::string(rendered)));
  ASSERT_TRUE(sink->end({}));
  const auto files = sink->publish();
  ASSERT_TRUE(files);
  auto parts = parts_of(files->front());
  EXPECT_THAT(parts["xl/workbook.xml"],
              HasSubstr("<sheets><sheet name=\"part_0\" sheetId=\"1\" r:id=\"rId1\"/>"
                        "<sheet name=\"part_1\" sheetId=\"2\" r:id=\"rId2\"/></sheets>"));
  EXPECT_THAT(parts[kFirstSheet].substr(0, 200), HasSubstr("<dimension ref=\"A1:A1048001\""));
  const std::string& second = parts["xl/worksheets/sheet2.xml"];
  EXPECT_THAT(second.substr(0, 200), HasSubstr("<dimension ref=\"A1:A2001\""));
  EXPECT_EQ(count_of(second, "<row>"), 2001);
  EXPECT_THAT(second.substr(0, 400), HasSubstr("<t>x</t>"));  // titles in every sheet
  EXPECT_EQ(count_of(parts["[Content_Types].xml"], "worksheet+xml"), 2);
}

}  // namespace
}  // namespace assay
