// Every output, given names, sections, reasons, notes and stacks that would steer a terminal or break a file.
#include "assay/base/hostile_texts.h"
#include "assay/base/text.h"
#include "assay/compat/msprobe/files.h"
#include "assay/report/sample_rows.h"
#include "assay/report/terminal.h"
#include "assay/report/xlsx_test_tools.h"
#include "assay/support/log.h"

#include <rapidjson/document.h>

namespace assay {
namespace {

const std::string& hostile() {
  static const std::string kName = hostile_name();
  return kName;
}

Head hostile_head() {
  Head head = sample_head();
  head.command_line = head.mine_layout = head.golden_layout = head.matcher = head.rule_set = hostile();
  head.mine = head.golden = hostile();
  return head;
}

std::vector<NodeResult> hostile_nodes() {
  static const std::vector<std::string_view> kStack = {hostile()};
  static const Item kItem;
  std::vector<NodeResult> nodes;
  for (const Level level : {Level::fail, Level::error, Level::pass, Level::ignored}) {
    Comparison row = sample_row(hostile(), level, 1, 1);
    row.metrics[0] = hostile();
    row.verdict.reason = row.verdict.word = row.note = hostile();
    row.mine.item = row.golden.item = &kItem;
    NodeResult node = node_of(hostile(), {row, lonely_row(hostile(), level)});
    node.stack = kStack;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Summary hostile_summary(const std::vector<NodeResult>& nodes) {
  Summary summary;
  summary.rows = 8;
  summary.errors = 3;
  summary.first_error = hostile();
  const RowPlace place{hostile(), hostile(), hostile(), hostile(), hostile(), nodes[0].rows[0]};
  summary.first_divergence = summary.first_origin = place;
  return summary;
}

// Nor any control character but the line ends of the output itself.
void expect_clean(const std::string& text) {
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(hostile_part(text), "");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      ASSERT_EQ(c, '\n');
    }
}

std::string report(std::string_view output, const TestFolder& folder) {
  const std::vector<NodeResult> nodes = hostile_nodes();
  return file_text(
      write_report(output, folder.path(), hostile_head(), nodes, hostile_summary(nodes), hostile()));
}

TEST(HostileNames, StayTextInEveryTextReport) {
  for (const std::string_view output : {"csv", "json", "jsonl", "junit"}) {
    const TestFolder folder;
    SCOPED_TRACE(output);
    expect_clean(report(output, folder));
  }
}

TEST(HostileNames, LeaveJsonValidAndReadBackAsTheyAreShown) {
  const TestFolder folder;
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(report("json", folder).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_EQ(document["rows"][0]["mine"].GetString(), printable(hostile()));
}

TEST(HostileNames, StayTextInASpreadsheet) {
  const TestFolder folder;
  const std::vector<NodeResult> nodes = hostile_nodes();
  const auto parts =
      parts_of(write_report("xlsx", folder.path(), hostile_head(), nodes, hostile_summary(nodes), hostile()));
  EXPECT_FALSE(parts.empty());
  for (const auto& [name, text] : parts) {
    SCOPED_TRACE(name);
    EXPECT_EQ(hostile_part(text), "");
  }
}

TEST(HostileNames, StayTextInADatabase) {
  const TestFolder folder;
  const std::vector<NodeResult> nodes = hostile_nodes();
  const auto path =
      write_report("sqlite", folder.path(), hostile_head(), nodes, hostile_summary(nodes), hostile());
  EXPECT_EQ(hostile_part(file_text(path)), "");  // the pages hold the texts as they are
  EXPECT_NE(file_text(path).find("n\\xc2\\x9bn"), std::string::npos);
}

TEST(HostileNames, StayTextInTheTablesOfOtherTools) {
  Profile profile = native_profile;
  for (const Print print : {Print::python, Print::python_as_text}) {
    const TestFolder folder;
    profile.print = print;
    const std::vector<NodeResult> nodes = hostile_nodes();
    for (const std::string_view output : {"csv", "xlsx"}) {
      ReportSet reports;
      reports.add(find_output(output)->open({folder.path(), &profile}));
      ASSERT_TRUE(reports.begin(hostile_head()));
      ASSERT_TRUE(reports.write(nodes, reports.render(nodes)));
      const auto files = reports.end(hostile_summary(nodes));
      ASSERT_TRUE(files);
      if (output == "csv") {
        expect_clean(file_text(files->front()));
      } else {
        for (const auto& [name, text] : parts_of(files->front())) EXPECT_EQ(hostile_part(text), "") << name;
      }
    }
  }
}

TEST(HostileNames, StayTextBesideTheTablesOfMsprobe) {
  log::set_writer([](log::Level, std::string_view) {});  // the console cleans what is logged
  for (const int which : {0, 1, 2, 3}) {
    SCOPED_TRACE(which);
    const TestFolder folder;
    const MsprobeFiles files{.folder = folder.path()};
    std::vector<NodeResult> nodes = hostile_nodes();
    for (NodeResult& node : nodes)
      for (Comparison& row : node.rows) row.verdict.word = "No";
    ReportSet reports;
    reports.add(which == 0   ? msprobe_advisor(files, native_profile)
                : which == 1 ? msprobe_mapping(files)
                : which == 2 ? msprobe_first_difference(files, native_profile, Generation::g3)
                             : section_summary(folder.path(), native_profile));
    Head head = hostile_head();
    head.at.part = hostile();
    ASSERT_TRUE(reports.begin(head));
    for (int section = 0; section < 2; ++section) {
      ASSERT_TRUE(reports.open_section(head));
      ASSERT_TRUE(reports.write(nodes, reports.render(nodes)));
      ASSERT_TRUE(reports.close_section(hostile_summary(nodes)));
    }
    const auto written = reports.end(hostile_summary(nodes));
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_FALSE(written->empty());
    for (const fs::path& file : *written) expect_clean(file_text(file));
  }
  log::set_writer({});
}

TEST(HostileNames, StayTextOnTheTerminal) {
  TerminalReport terminal;
  Head head = hostile_head();
  terminal.begin(head);
  const std::vector<NodeResult> nodes = hostile_nodes();
  terminal.add(hostile(), nodes);
  const fs::path file = hostile();
  expect_clean(terminal.text(hostile_summary(nodes), {&file, 1}));
}

}  // namespace
}  // namespace assay
