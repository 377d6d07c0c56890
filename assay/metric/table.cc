#include "assay/metric/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay {
namespace {

const Metric* find_metric(std::string_view name) {
  for (const Metric* metric : metrics()) {
    if (metric->name == name) return metric;
    if (std::find(metric->columns.begin(), metric->columns.end(), name) != metric->columns.end())
      return metric;
  }
  return nullptr;
}

void add_metric(MetricPlan& plan, const Metric* metric) {
  if (std::find(plan.metrics.begin(), plan.metrics.end(), metric) != plan.metrics.end()) return;
  plan.metrics.push_back(metric);
  plan.columns.insert(plan.columns.end(), metric->columns.begin(), metric->columns.end());
  plan.needs |= metric->needs;
}

}  // namespace

// In the order reports print them.
std::span<const Metric* const> metrics() {
  static constexpr const Metric* kTable[] = {
      &max_abs_metric,
      &rel_l2_metric,
      &rel_l2_rest_metric,
      &cosine_metric,
      &ulp_max_metric,
      &mean_abs_metric,
      &equal_metric,
      &nonfinite_metric,
      &worst_metric,
      &mine_metric,
      &golden_metric,
      &max_rel_metric,
      &mean_rel_metric,
      &msit_metric,
      &msprobe_metric,
      &l1_metric,
      &kl_metric,
      &bias_metric,
      &sqnr_metric,
      &l2_metric,
      &rel_l2_squared_metric,
      &ulp_mean_metric,
      &ulp_p99_metric,
      &abs_quantiles_metric,
      &golden_rms_metric,
      &crc32_metric,
      &md5_metric,
      &stat_diff_metric,
      &stat_diff_g3_metric,
      &checksum_metric,
      &msprobe_g1_metric,
      &msprobe_g2_metric,
      &msprobe_g3_metric,
      &msprobe_cosine_metric,
      &nonfinite_kinds_metric,
      &arg_max_metric,
      &msit_similarity_metric,
      &msit_stated_metric,
      &logits_metric,
  };
  return kTable;
}

std::vector<Value> MetricPlan::finish(const Gathered& gathered) const {
  std::vector<Value> values(columns.size());
  size_t at = 0;
  for (const Metric* metric : metrics) {
    metric->finish(gathered, std::span(values).subspan(at, metric->columns.size()));
    at += metric->columns.size();
  }
  return values;
}

std::vector<Value> MetricPlan::finish_stated(const Stated& mine, const Stated& golden) const {
  std::vector<Value> values(columns.size());
  size_t at = 0;
  for (const Metric* metric : metrics) {
    if (metric->finish_stated != nullptr)
      metric->finish_stated(mine, golden, std::span(values).subspan(at, metric->columns.size()));
    at += metric->columns.size();
  }
  return values;
}

Result<MetricPlan> plan_metrics(std::span<const std::string> names) {
  MetricPlan plan;
  for (const std::string& name : names) {
    if (name == "all" || name == "default") {
      for (const Metric* metric : metrics())
        if (name == "all" || metric->by_default) add_metric(plan, metric);
      continue;
    }
    const Metric* metric = find_metric(name);
    if (metric == nullptr) {
      std::vector<std::string_view> known;
      for (const Metric* each : metrics()) known.push_back(each->name);
      return fail(ErrorKind::bad_argument, "there is no metric '{}'; there are: default, all, {}", name,
                  fmt::join(known, ", "));
    }
    add_metric(plan, metric);
  }
  return plan;
}

}  // namespace assay
