#include "assay/report/sample_rows.h"

namespace assay {
namespace {

Comparison broken_row() {
  Comparison row = sample_row("c", Level::error, 0, 0);
  row.status = Status::unreadable;
  row.evidence = Evidence::nothing;
  row.metrics.clear();
  row.note = "c: ends at byte 3 <truncated>";
  return row;
}

TEST(JunitReport, IsTheTextThatCiSystemsRead) {
  const TestFolder folder;
  Head head = sample_head();
  head.command_line = "assay 'a' \"b\" <c>";
  Summary failing;
  failing.rows = 4;
  failing.compared = 2;
  failing.failed = failing.differ = failing.errors = failing.broken = 1;
  const auto path = write_report(
      "junit", folder.path(), head,
      {node_of("n1", {sample_row("a&b", Level::pass, 0, 0), sample_row("bad", Level::fail, 0.5, 0.3)}),
       node_of("n2", {lonely_row("only\x01", Level::ignored), broken_row()})},
      failing, "rank 0");
  EXPECT_EQ(path.extension(), ".xml");
  const std::string counts = " tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"";
  EXPECT_EQ(file_text(path), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="assay" timestamp="2025-01-02T03:04:05")" +
                                 counts + R"(>
  <properties>
    <property name="assay" value="0.1.0"/>
    <property name="generated" value="2025-01-02T03:04:05Z"/>
    <property name="command" value="assay &#39;a&#39; &quot;b&quot; &lt;c&gt;"/>
    <property name="mine" value="a"/>
    <property name="golden" value="b"/>
    <property name="mine_layout" value="folder"/>
    <property name="golden_layout" value="folder"/>
    <property name="matcher" value="name"/>
    <property name="rules" value="native"/>
  </properties>
  <testcase classname="rank 0: n1" name="a&amp;b"/>
  <testcase classname="rank 0: n1" name="bad"><failure message="rel_l2 0.3 &gt; 0.031" type="compared">
section: rank 0
name: n1
mine: bad
golden: bad
verdict: fail
status: compared
mine_dtype: f32
golden_dtype: bf16
mine_shape: [2, 3]
golden_shape: [2, 3]
max_abs: 0.5
rel_l2: 0.3
why: same name
reason: rel_l2 0.3 &gt; 0.031
compared_by: elements
  </failure></testcase>
  <testcase classname="rank 0: n2" name="only\x01"><skipped message="only in mine" type="only in mine"/></testcase>
  <testcase classname="rank 0: n2" name="c"><error message="c: ends at byte 3 &lt;truncated&gt;" type="unreadable">
section: rank 0
name: n2
mine: c
golden: c
verdict: error
status: unreadable
mine_dtype: f32
golden_dtype: bf16
mine_shape: [2, 3]
golden_shape: [2, 3]
why: same name
note: c: ends at byte 3 &lt;truncated&gt;
  </error></testcase>
  <system-out>ERROR: 1 of 4 tensors could not be compared; 1 differs beyond tolerance.</system-out>
</testsuite>
)");
}

TEST(JunitReport, ToStandardOutputHasItsCountsToo) {
  ::testing::internal::CaptureStdout();
  Summary passing;
  passing.rows = passing.compared = passing.passed = passing.of_mine = passing.of_golden = 1;
  write_report("junit", "-", sample_head(), {node_of("n", {sample_row("x", Level::pass, 0, 0)})}, passing);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\""), std::string::npos);
  EXPECT_TRUE(text.ends_with("<system-out>PASS: the tensors agree.</system-out>\n</testsuite>\n"));
}

TEST(JunitReport, TellsOfASectionWithoutRows) {
  const TestFolder folder;
  Summary summary;
  summary.errors = 1;
  summary.first_error = "rank 1: dump.json: not found";
  const std::string text = file_text(write_report("junit", folder.path(), sample_head(), {}, summary));
  EXPECT_NE(text.find("tests=\"1\" failures=\"0\" errors=\"1\""), std::string::npos);
  EXPECT_NE(text.find("<error message=\"rank 1: dump.json: not found\""), std::string::npos);
}

}  // namespace
}  // namespace assay
