// Rows of msprobe dumps, made by hand, for the tests of its rules.
#pragma once

#include "assay/compat/msprobe/row.h"
#include "assay/compat/msprobe/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace assay {

inline const double kNan = std::nan("");
inline constexpr double kInf = HUGE_VAL;

// What was measured of a row; everything is equal unless a test says so.
struct TestMetrics {
  Value cosine = 1.0, l2 = 0.0, max_abs = 0.0, max_rel = 0.0, ratio_1e3 = 1.0, ratio_5e3 = 1.0;
  Value mine_norm = 1.0, golden_norm = 1.0, kind_mismatch = int64_t{0};
  Value max_diff = 0.0, max_pct = 0.0, norm_pct = 0.0;
};

inline Stated test_stated() {
  Stated stated;
  stated.max = stated.min = stated.mean = stated.norm = 1.0;
  stated.dtype = "torch.float32";
  stated.shape = "[2, 3]";
  stated.data_name = "a.pt";
  return stated;
}

struct TestSide {
  Stated stated = test_stated();
  DType dtype = DType::f32;
  std::vector<int64_t> dims = {2, 3};
};

struct TestRow {
  std::string name = "Torch.add.0.forward.output.0";
  Direction direction = Direction::output;
  TestMetrics metrics = {};
  TestSide mine = {}, golden = {};
  std::string golden_name = {};  // empty: the same
  bool matched = true;
  Status status = Status::compared;
};

inline Head test_head(Content content, Generation generation) {
  const std::string suffix(suffix_of(generation));
  const std::string g3 = generation == Generation::g3 ? "_g3" : "";
  Head head;
  head.content = content;
  head.metric_columns = {"cosine_msprobe",
                         "l2",
                         "max_abs",
                         "max_rel" + suffix,
                         "ratio_1e3" + suffix,
                         "ratio_5e3" + suffix,
                         "mine_norm",
                         "golden_norm",
                         "nonfinite_kind_mismatch",
                         "max_diff" + g3,
                         "max_diff_pct" + g3,
                         "norm_diff_pct" + g3};
  return head;
}

// Rows of one operator. Stays where it is made: the rows point into it.
class JudgedNode {
 public:
  explicit JudgedNode(std::vector<TestRow> rows) : rows_(std::move(rows)) {
    result.name = "Torch.add.0.forward";
    for (const TestRow& row : rows_) {
      const TestMetrics& m = row.metrics;
      Comparison& made = result.rows.emplace_back();
      made.status = row.status;
      made.mine = side(row.mine, row.name, row.direction);
      if (row.matched)
        made.golden = side(row.golden, row.golden_name.empty() ? row.name : row.golden_name, row.direction);
      made.metrics = {m.cosine,    m.l2,          m.max_abs,       m.max_rel,  m.ratio_1e3, m.ratio_5e3,
                      m.mine_norm, m.golden_norm, m.kind_mismatch, m.max_diff, m.max_pct,   m.norm_pct};
    }
  }
  JudgedNode(const JudgedNode&) = delete;
  JudgedNode& operator=(const JudgedNode&) = delete;

  NodeResult result;

 private:
  SideFacts side(const TestSide& from, std::string_view name, Direction direction) {
    Item& item = items_.emplace_back();
    item.name = name;
    item.port.direction = direction;
    item.stated = &from.stated;
    return {name, TensorMeta{from.dtype, Shape{from.dims}}, {}, &item};
  }

  const std::vector<TestRow> rows_;
  std::deque<Item> items_;
};

// The verdicts of the rows of one operator.
inline std::vector<Verdict> judge_rows(Generation generation, Content content, std::vector<TestRow> rows,
                                       const MsprobeRuleStyle& style = {}, const Head* other_head = nullptr) {
  JudgedNode node(std::move(rows));
  const Head head = other_head != nullptr ? *other_head : test_head(content, generation);
  msprobe_rules(generation, style).prepare(head, {})(node.result);
  std::vector<Verdict> verdicts;
  for (const Comparison& row : node.result.rows) verdicts.push_back(row.verdict);
  return verdicts;
}

}  // namespace assay
