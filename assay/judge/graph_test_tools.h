// Operators of a compiled graph that are judged one after the other, as the run does it.
#pragma once

#include "assay/judge/introduced.h"
#include "assay/judge/judge.h"

#include <deque>

namespace assay {

class JudgedGraph {
 public:
  struct Row {
    Direction direction;
    int port;
    double rel_l2;
    double rms = 1;
    Status status = Status::compared;
    DType dtype = DType::f16;
    std::shared_ptr<const Rerun> rerun = {};  // of its operator, of the last row
  };
  using Kind = InputSource::Kind;

  explicit JudgedGraph(bool is_compiled = true) : is_compiled_(is_compiled) {
    head_.metric_columns = {"nonfinite_mismatch", "ulp_max",     "rel_l2", "max_abs",
                            "golden_rms",         "worst_golden"};
    head_.graphs_differ = true;
    judge_ = native_rules.prepare(head_, options_);
  }
  JudgedGraph(const JudgedGraph&) = delete;

  // Verdicts of the rows of the next operator.
  std::vector<Level> add(std::string_view name, const std::vector<Row>& rows,
                         std::vector<InputSource> sources, ModelPlace place = {}) {
    place.is_compiled = place.has_graph = is_compiled_;
    NodeResult node{name, count_, {}, {}, place, count_, sources_.emplace_back(std::move(sources))};
    ++count_;
    for (const Row& from : rows) {
      Item& item = items_.emplace_back();
      item.port = {from.direction, from.port};
      item.meta = &metas_.emplace_back(TensorMeta{from.dtype, Shape{{8, 8}}});
      Comparison& row = node.rows.emplace_back();
      row.status = from.status;
      row.mine = {name, *item.meta, {}, &item};
      if (from.status == Status::only_mine) continue;
      row.basis = Basis::data;
      row.evidence = Evidence::elements;
      row.golden = row.mine;
      row.metrics = {int64_t{0}, int64_t{1000}, from.rel_l2, from.rel_l2 * from.rms, from.rms, from.rms};
    }
    judge_(node);
    for (size_t i = 0; i < rows.size(); ++i)
      if ((node.rows[i].rerun = rows[i].rerun) != nullptr) tell_rerun(node.rows[i]);
    findings_.add(node);
    std::vector<Level> levels;
    note_ = node.rows.empty() ? "" : node.rows.back().note;
    reason_ = node.rows.empty() ? "" : node.rows.back().verdict.reason;
    for (const Comparison& row : node.rows) levels.push_back(row.verdict.level);
    return levels;
  }

  Summary summary() const { return findings_.conclude(); }
  const std::string& reason() const { return reason_; }  // of the last row
  const std::string& note() const { return note_; }
  std::string origin() const {
    const Summary summary = findings_.conclude();
    return summary.first_origin ? summary.first_origin->node : "none";
  }
  std::vector<std::string> not_compared() const {
    const Summary summary = findings_.conclude();
    return summary.first_origin ? summary.first_origin->not_compared : std::vector<std::string>();
  }

  static Row in(int port, double rel_l2, double rms = 1) { return {Direction::input, port, rel_l2, rms}; }
  static Row out(double rel_l2, double rms = 1) { return {Direction::output, 0, rel_l2, rms}; }
  static Row alone(int port, DType dtype = DType::f16) {
    return {Direction::input, port, 0, 1, Status::only_mine, dtype};
  }
  static InputSource given(int32_t port) { return {Kind::given, port}; }
  static InputSource unknown(int32_t port) { return {Kind::unknown, port}; }
  static InputSource from(int32_t port, int32_t node) { return {Kind::result, port, node, 0}; }

  static Row alone_out() { return {Direction::output, 0, 0, 1, Status::only_mine}; }

 private:
  const bool is_compiled_;
  Head head_;
  RuleOptions options_;
  Judge judge_;
  Findings findings_;
  std::deque<Item> items_;
  std::deque<TensorMeta> metas_;
  std::deque<std::vector<InputSource>> sources_;
  std::string reason_, note_;
  int32_t count_ = 0;
};

}  // namespace assay
