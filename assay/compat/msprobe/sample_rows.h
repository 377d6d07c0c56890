// Rows of msprobe dumps for the tests of its tables and of the files beside them.
#pragma once

#include "assay/compat/msprobe/row.h"
#include "assay/report/sample_rows.h"
#include "assay/support/log.h"

namespace assay {

// One row with both sides, which say the same; tests change what they are about. Stays where it is made.
struct MsprobePair {
  explicit MsprobePair(std::string row_name, Direction direction = Direction::output, int index = 0)
      : name(std::move(row_name)) {
    for (Stated* const stated : {&mine, &golden}) {
      stated->max = 4.0;
      stated->min = -1.0;
      stated->mean = 0.5;
      stated->norm = 2.25;
      stated->dtype = "torch.float32";
      stated->shape = "[2, 3]";
    }
    mine.data_name = "n.pt";
    golden.data_name = "b.pt";
    mine_item.stated = &mine;
    golden_item.stated = &golden;
    for (Item* const item : {&mine_item, &golden_item}) {
      item->name = name;
      item->port.direction = direction;
    }
    const TensorMeta meta{DType::f32, Shape{{2, 3}}};
    row.mine = {name, meta, {}, &mine_item};
    row.golden = {name, meta, {}, &golden_item};
    row.pair.mine = row.pair.golden = ItemId{0, 0, index};
    row.pair.why = Why::same_name;
  }
  MsprobePair(const MsprobePair&) = delete;
  MsprobePair& operator=(const MsprobePair&) = delete;

  void lose_golden() {
    row.golden = {};
    row.pair.golden.reset();
    row.status = Status::only_mine;
  }
  void lose_mine() {
    row.mine = {};
    row.pair.mine.reset();
    row.status = Status::only_golden;
  }

  std::string name;
  Stated mine, golden;
  Item mine_item, golden_item;
  Comparison row;
};

// Local time is UTC while the test runs, so that names of files are known.
inline Head msprobe_head(Content content, Generation generation = Generation::g2) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const std::string suffix(suffix_of(generation));
  const std::string g3 = generation == Generation::g3 ? "_g3" : "";
  Head head = sample_head();  // 2025-01-02T03:04:05Z
  head.content = content;
  head.metric_columns.clear();
  if (content == Content::data)
    head.metric_columns = {"cosine_msprobe",
                           "l2",
                           "max_abs",
                           "max_rel" + suffix,
                           "ratio_1e3" + suffix,
                           "ratio_5e3" + suffix,
                           "nonfinite_kind_mismatch"};
  if (content == Content::statistics)
    for (const std::string_view what : {"_diff", "_diff_pct"})
      for (const std::string_view which : {"max", "min", "mean", "norm"})
        head.metric_columns.push_back(std::string(which) + std::string(what) + g3);
  return head;
}

// One section through a sink; the files it published.
inline std::vector<fs::path> run_sink(Sink& sink, const Head& head, const std::vector<NodeResult>& nodes,
                                      const Summary& summary = {}) {
  const auto check = [](const auto& result) {
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
  };
  check(sink.begin(head));
  check(sink.open_section(head));
  const std::string section = head.at.text();
  for (const NodeResult& node : nodes)
    check(sink.write(section, {&node, 1}, sink.render(section, {&node, 1})));
  check(sink.close_section(summary));
  check(sink.end(summary));
  auto files = sink.publish();
  check(files);
  check(sink.announce(summary, files ? *files : std::vector<fs::path>()));
  return files ? *files : std::vector<fs::path>();
}

// What is logged while it lives, "warn text" for warnings.
class LogLines {
 public:
  LogLines() {
    log::set_level(log::Level::info);
    log::set_writer([this](log::Level level, std::string_view text) {
      lines.push_back((level == log::Level::warn ? "warn " : "") + std::string(text));
    });
  }
  ~LogLines() {
    log::set_writer({});
    log::set_level(log::Level::warn);
  }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  std::vector<std::string> lines;
};

}  // namespace assay
