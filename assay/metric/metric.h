// Metrics of a pair of tensors. Gatherers make one pass over the blocks of both; metrics are small functions
// of what was gathered. Definitions with formulas: docs/metrics.md
#pragma once

#include "assay/metric/gathered.h"
#include "assay/model/dump.h"
#include "assay/tensor/operand.h"

#include <span>
#include <string_view>
#include <vector>

namespace assay {

struct Metric {
  std::string_view name;                  // what --metrics says
  std::vector<std::string_view> columns;  // what reports and rules say; often the same as the name
  GatherMask needs;
  bool by_default;
  std::string_view meaning;                                        // one line for --help and docs
  void (*finish)(const Gathered& gathered, std::span<Value> out);  // one value per column
  // The same from what two dumps say of a tensor whose data they do not have; null: absent then.
  void (*finish_stated)(const Stated& mine, const Stated& golden, std::span<Value> out) = nullptr;
  OpenOwnSums own_sums = nullptr;  // beside what it needs of the common ones
  RunOwnPass own_pass = nullptr;   // … and of all elements
};

using MetricTable = std::span<const Metric* const>;
MetricTable metrics();

// The metrics of one run: their columns in order and the gatherers they need together.
struct MetricPlan {
  std::vector<const Metric*> metrics;
  std::vector<std::string> columns;
  GatherMask needs = 0;
  GatherMask only_of_logits = 0;  // those of them that other pairs can do without
  std::vector<OpenOwnSums> own_sums;
  std::optional<DType> steps_of = {};  // see GatherPlan
  Closeness closeness = {};

  GatherPlan gathering() const { return {needs, own_sums, steps_of, closeness}; }
  std::vector<Value> finish(const Gathered& gathered) const;
  std::vector<Value> finish_stated(const Stated& mine, const Stated& golden) const;
};

// Names of metrics or of columns; "default" and "all" stand for sets. `more`: metrics of the caller's own,
// behind those of the table. An error names what is unknown and what exists.
Result<MetricPlan> plan_metrics(std::span<const std::string> names, MetricTable more = {});
// Those of the table that the plan lacks.
Result<void> add_metrics(MetricPlan& plan, std::span<const std::string> names);

}  // namespace assay
