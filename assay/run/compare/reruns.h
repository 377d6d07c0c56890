// Runs operators of mine again, on what mine had given them: what they gave that this does not explain, they
// made themselves.
#pragma once

#include "assay/match/ops/golden_op.h"
#include "assay/metric/band.h"
#include "assay/metric/metric.h"
#include "assay/model/op_kind.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/golden_step.h"

#include <functional>

namespace assay {

// One node at a time, in report order: what is run does not depend on who is faster.
class Reruns {
 public:
  // Whether a row that passes is run again too: its types alone do not allow its error.
  using IsOver = std::function<bool(const Comparison& row, std::string_view node)>;

  // All outlive this. `bytes`: that comparing the section reads; what is run costs at most half of that,
  // unless `by` says that all of it is wanted. metrics: that rows have.
  Reruns(const Matched& matched, Loader& loader, const MetricPlan& metrics, const GoldenOptions& options,
         const Prepare& prepare, OriginBy by, int64_t bytes, IsOver is_over);

  // Of a node that was judged: its results get what came of it.
  void run(NodeResult& node, PairScratch& scratch);

 private:
  bool is_wanted(const NodeResult& node, const Comparison& row) const;
  std::vector<OutputPlan> plans_of(const ItemId& item) const;  // empty: it has no golden
  OpKind kind_of_node(const ItemId& item) const;
  bool is_own_rounding(const ItemId& output, DType dtype, const std::vector<Value>& apart) const;
  int64_t work_of(const Plan& plan, size_t ranks) const;
  std::shared_ptr<const Rerun> rerun(const Plan& plan, const Comparison& row, PairScratch& scratch);
  Result<Rerun> rerun_on(int32_t rank, const Plan& plan, PairScratch& scratch);

  const Matched& matched_;
  Loader& loader_;
  const std::vector<std::string>& columns_;
  GoldenSteps steps_;
  const OriginBy by_;
  const IsOver is_over_;
  const MetricPlan error_;  // how far the two are apart
  int64_t budget_;          // what is left of it
};

// Whether mine is a dump of operators that have a golden: of ATB, or of calls of torch (torch_step.h).
bool can_rerun(const Dump& mine);

}  // namespace assay
