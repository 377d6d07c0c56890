// Measures the pairs of a section on all cores and hands the rows on in report order.
#pragma once

#include "assay/dump/layout.h"
#include "assay/metric/metric.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/detail.h"
#include "assay/run/compare/golden_step.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/prepare.h"
#include "assay/run/compare/side_statistics.h"
#include "assay/support/progress.h"

namespace assay {

class Algorithms;  // assay/run/algorithms.h
class Team;        // assay/run/cluster/team.h

// What happens to a batch of measured nodes.
struct RowFlow {
  // Verdicts of these nodes: any thread, or one at a time and in order.
  std::function<void(std::span<NodeResult>)> judge;
  bool judge_in_order = false;
  // Any thread: whether a row that was just measured is in for a failure by its types. Empty: nobody asks.
  std::function<bool(const Comparison& row, std::string_view node)> doubts = {};
  // Any thread: which rule of the user's a row of these names is judged by; null: none. Empty: there are
  // none.
  std::function<const void*(const Comparison& row, std::string_view node)> rule_of = {};
  Algorithms* algorithms = nullptr;               // of the user; null: none
  DetailBudget* details = nullptr;                // null: no row is looked at closely
  const DetailOptions* detail_options = nullptr;  // there is a budget
  // From `run` on, operators of mine are run again; `doubts` says of what passes which is in for it too.
  OriginBy origin = OriginBy::estimate;
  // Whether a tensor whose file is not what the dump says of it is an error: other tools do not look.
  bool checks_claims = false;
  Team* team = nullptr;  // of the processes that measure together; null: this one measures all
  // Any thread: their text.
  std::function<std::vector<std::string>(std::span<const NodeResult>)> render;
  // One thread, in order. False ends the run early.
  std::function<Result<bool>(std::span<const NodeResult>, std::vector<std::string>&&)> write;
};

// one_by_one: every node is written by itself, so that an early end leaves nothing behind it.
// side_statistics: of every side that has data, with a partner or without.
Result<void> measure(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options,
                     const RowFlow& flow, bool one_by_one, Progress& progress,
                     SideStatistics side_statistics = SideStatistics::none, const Prepare& prepare = {},
                     GoldenOptions golden = {});

// Bytes that measuring the section will read, for the progress bar.
int64_t bytes_to_read(const Matched& matched);

}  // namespace assay
