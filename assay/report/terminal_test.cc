#include "assay/report/terminal.h"

#include "assay/report/sample_rows.h"
#include "assay/report/terminal_table.h"

#include <limits>

namespace assay {
namespace {

Summary summary_of(const std::vector<NodeResult>& nodes) {
  Summary summary;
  for (const NodeResult& node : nodes)
    for (const Comparison& row : node.rows) {
      ++summary.rows;
      const bool fails = row.verdict.level == Level::fail;
      ++summary.by[static_cast<size_t>(row.evidence)];
      summary.compared += row.evidence != Evidence::nothing ? 1 : 0;
      summary.of_mine += row.pair.mine ? 1 : 0;
      summary.of_golden += row.pair.golden ? 1 : 0;
      summary.errors += row.verdict.level == Level::error ? 1 : 0;
      summary.broken += row.verdict.level == Level::error ? 1 : 0;
      summary.failed += fails ? 1 : 0;
      summary.differ += fails && row.status == Status::compared ? 1 : 0;
      summary.alone += fails && row.status == Status::only_mine ? 1 : 0;
      summary.ignored += row.verdict.level == Level::ignored ? 1 : 0;
      summary.unmatched += row.status == Status::only_mine ? 1 : 0;
      if (row.verdict.level != Level::fail || summary.first_divergence) continue;
      summary.first_divergence = RowPlace{
          "", std::string(node.name), std::string(row.mine.name), std::string(row.golden.name), "", row};
    }
  return summary;
}

std::string report_of(const std::vector<NodeResult>& nodes, Head head = sample_head(),
                      const std::string& section = "") {
  TerminalReport report;
  report.begin(head);
  report.add(section, nodes);
  return report.text(summary_of(nodes), {});
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(TerminalReport, SaysHowManyDiffer) {
  std::vector<Comparison> rows(116, sample_row("ok", Level::pass, 0, 0));
  for (int i = 0; i < 3; ++i) rows.push_back(sample_row("bad", Level::fail, 0.5, 0.3));
  rows.push_back(lonely_row("lone", Level::fail));
  EXPECT_EQ(first_line(report_of({node_of("n", rows)})),
            "FAIL: 3 of 120 tensors differ beyond tolerance; 1 unmatched.");
  EXPECT_EQ(first_line(report_of({node_of("n", {lonely_row("a", Level::fail)})})),
            "NOT COMPARED: none of 1 tensor has a counterpart.");
}

TEST(TerminalReport, ShowsTheFirstDivergence) {
  EXPECT_EQ(report_of({node_of("layer.1", {sample_row("layer.1.out", Level::fail, 0.5, 0.3)})}),
            R"(FAIL: 1 of 1 tensor differs beyond tolerance.

First divergence: layer.1.out
  mine f32 [2, 3], golden bf16 [2, 3]
  max_abs 0.5  rel_l2 0.3
  worst element [1, 2]: mine 6, golden 6.5
  rel_l2 0.3 > 0.031
)");
}

TEST(TerminalReport, IsShortWhenAllAgree) {
  std::vector<Comparison> rows(3, sample_row("x", Level::pass, 1e-6, 1e-7));
  rows.push_back(sample_row("worst", Level::pass, 1e-5, 2e-7));
  TerminalReport report;
  report.begin(sample_head());
  const NodeResult node = node_of("n", rows);
  report.add("", {&node, 1});
  const std::vector<fs::path> files = {"out/r.csv", "out/r.xlsx"};
  EXPECT_EQ(report.text(summary_of({node}), files),
            "PASS: all 4 tensors agree.\n"
            "4 rows: 4 compared, 0 unmatched, 0 ignored.\n"
            "Largest difference: worst\n"
            "  max_abs 1e-05  rel_l2 2e-07\n"
            "Report: out/r.csv\n"
            "Report: out/r.xlsx\n");
}

TEST(TerminalReport, NamesTroubleBeforeDifferences) {
  Comparison broken = sample_row("b", Level::error, 0, 0);
  broken.status = Status::unreadable;
  broken.metrics.clear();
  EXPECT_EQ(first_line(report_of({node_of("n", {broken, sample_row("a", Level::fail, 1, 1)})})),
            "ERROR: 1 of 2 tensors could not be compared; 1 differs beyond tolerance.");
  TerminalReport report;
  report.begin(sample_head());
  Summary summary;
  summary.errors = 1;
  summary.first_error = "rank 1: dump.json: not\nfound";
  const std::string text = report.text(summary, {});
  EXPECT_TRUE(text.starts_with(
      "ERROR: 1 part of the dump could not be read.\nFirst error: rank 1: dump.json: not\\x0afound\n"));
}

TEST(TerminalReport, DoesNotCallNothingAPass) {
  EXPECT_EQ(first_line(report_of({})), "NOT COMPARED: there are no tensors.");
  EXPECT_EQ(first_line(report_of(
                {node_of("n", {lonely_row("a", Level::ignored), lonely_row("b", Level::ignored)})})),
            "NOT COMPARED: none of 2 tensors has a counterpart.");
  EXPECT_EQ(first_line(report_of(
                {node_of("n", {sample_row("x", Level::pass, 0, 0), lonely_row("a", Level::ignored)})})),
            "PASS: the one compared tensor agrees; 1 not compared.");
}

TEST(TerminalReport, KeepsTheTenWorstInOrder) {
  std::vector<Comparison> rows;
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("row" + std::to_string(i) + ".");
  for (int i = 0; i < 30; ++i)
    rows.push_back(sample_row(names[static_cast<size_t>(i)], Level::fail, 1, i % 15));
  rows.push_back(lonely_row("lone", Level::fail));
  rows.push_back(sample_row("nan", Level::fail, 1, std::numeric_limits<double>::quiet_NaN()));
  Comparison broken = lonely_row("broken", Level::error);
  rows.push_back(broken);
  const std::string text = report_of({node_of("n", rows)}, sample_head(), "step 3");
  EXPECT_NE(text.find("Worst 10 of 33 rows"), std::string::npos);
  size_t at = text.find("Worst 10");
  for (const char* name :
       {"broken", "nan", "row14.", "row29.", "row13.", "row28.", "row12.", "row27.", "row11.", "row26."}) {
    at = text.find(std::string("[step 3] ") + name, at);
    ASSERT_NE(at, std::string::npos) << name;
  }
  EXPECT_EQ(text.find("row10.", at), std::string::npos);
  EXPECT_EQ(text.find("lone", text.find("Worst 10")), std::string::npos);  // behind all that were compared
}

TEST(TerminalReport, FitsEveryWidth) {
  std::string endless = "model.";
  for (int i = 0; i < 400; ++i) endless += "layer\xff层";
  const std::vector<NodeResult> nodes = {
      node_of("n", {sample_row(endless, Level::fail, 1e-300, -1.2345678e-300),
                    lonely_row(endless, Level::fail), sample_row("short", Level::fail, 1, 1)})};
  for (const int width : {40, 41, 57, 80, 200}) {
    Head head = sample_head();
    head.terminal_width = width;
    head.shown_columns.push_back("worst_mine");
    const std::string text = report_of(nodes, head);
    std::istringstream lines(text.substr(text.find("Rows that did not pass")));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(count, 5);
  }
}

TEST(TerminalReport, HasColoursOnlyWhenAsked) {
  const std::vector<NodeResult> nodes = {node_of("n", {sample_row("x", Level::fail, 1, 1)})};
  EXPECT_EQ(report_of(nodes).find('\x1b'), std::string::npos);
  Head head = sample_head();
  head.colour = true;
  EXPECT_TRUE(report_of(nodes, head).starts_with("\x1b[1;31mFAIL:\x1b[0m"));
}

TEST(TerminalReport, ToleratesAWorstIndexOutsideTheShape) {
  Comparison row = sample_row("x", Level::fail, 1, 1);
  row.metrics[2] = int64_t{6};
  EXPECT_NE(report_of({node_of("n", {row})}).find("worst element 6: mine 6"), std::string::npos);
  row.mine.meta = TensorMeta{DType::f32, Shape{{0, 3}}};
  EXPECT_NE(report_of({node_of("n", {row})}).find("worst element 6: mine 6"), std::string::npos);
}

TEST(ShortenMiddle, KeepsBothEnds) {
  EXPECT_EQ(shorten_middle("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(shorten_middle("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(shorten_middle("abcdefgh", 1), "…");
  EXPECT_EQ(shorten_middle("层层层层", 5), "层…层");
  EXPECT_EQ(shorten_middle("层层层层", 4), "…层");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("层a"), 3);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);
  EXPECT_EQ(display_width("…"), 1);
}

}  // namespace
}  // namespace assay
