// Rows for the tests of the outputs.
#pragma once

#include "assay/report/report.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace assay {

// A folder that goes away with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = ::testing::TempDir() + "assay_report_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() { fs::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const fs::path& path() const { return path_; }
  int64_t files() const { return std::distance(fs::directory_iterator(path_), fs::directory_iterator()); }

 private:
  fs::path path_;
};

inline std::string file_text(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

inline Head sample_head() {
  Head head;
  head.now = {1735787045};  // 2025-01-02T03:04:05Z
  head.version = "0.1.0";
  head.command_line = "assay compare a b";
  head.mine = "a";
  head.golden = "b";
  head.mine_layout = head.golden_layout = "folder";
  head.matcher = "name";
  head.rule_set = "native";
  head.metric_columns = {"max_abs", "rel_l2", "worst_index", "worst_mine", "worst_golden"};
  head.shown_columns = {"max_abs", "rel_l2"};
  return head;
}

inline Comparison sample_row(std::string_view name, Level level, double max_abs, double rel_l2) {
  Comparison row;
  row.pair.mine = row.pair.golden = ItemId{};
  row.pair.why = Why::same_name;
  row.mine = {name, TensorMeta{DType::f32, Shape{{2, 3}}}, "a"};
  row.golden = {name, TensorMeta{DType::bf16, Shape{{2, 3}}}, "b"};
  row.metrics = {max_abs, rel_l2, int64_t{5}, 6.0, 6.5};
  row.evidence = Evidence::elements;
  row.verdict.level = level;
  if (level == Level::fail) row.verdict.reason = "rel_l2 0.3 > 0.031";
  return row;
}

inline Comparison lonely_row(std::string_view name, Level level) {
  Comparison row;
  row.pair.mine = ItemId{};
  row.status = Status::only_mine;
  row.mine = {name, TensorMeta{DType::f32, Shape{{2, 3}}}, "a"};
  row.verdict.level = level;
  return row;
}

inline NodeResult node_of(std::string_view name, std::vector<Comparison> rows) {
  NodeResult node;
  node.name = name;
  node.rows = std::move(rows);
  return node;
}

// One run through ReportSet with one output; the file it wrote.
inline fs::path write_report(std::string_view output, const fs::path& folder, const Head& head,
                             const std::vector<NodeResult>& nodes, const Summary& summary,
                             const std::string& section = "") {
  ReportSet reports;
  reports.add(find_output(output)->open({.folder = folder}));
  const auto check = [](const auto& result) {
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
  };
  check(reports.begin(head));
  Head of_section = head;
  of_section.at.part = section;
  check(reports.open_section(of_section));
  for (const NodeResult& node : nodes) check(reports.write({&node, 1}, reports.render({&node, 1})));
  const auto files = reports.end(summary);
  check(files);
  return files && !files->empty() ? files->front() : fs::path();
}

}  // namespace assay
