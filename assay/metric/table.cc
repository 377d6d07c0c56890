#include "assay/metric/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay {
namespace {

const Metric* find_metric(std::string_view name, MetricTable table) {
  for (const Metric* metric : table) {
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
  if (metric->own_sums != nullptr &&
      std::find(plan.own_sums.begin(), plan.own_sums.end(), metric->own_sums) == plan.own_sums.end())
    plan.own_sums.push_back(metric->own_sums);
}

Result<void> add_from(std::initializer_list<MetricTable> tables, std::span<const std::string> names,
                      MetricPlan& plan) {
  for (const std::string& name : names) {
    const bool is_set = name == "all" || name == "default";
    const Metric* found = nullptr;
    for (const MetricTable table : tables) {
      if (is_set) {
        for (const Metric* metric : table)
          if (name == "all" || metric->by_default) add_metric(plan, metric);
      } else if (found == nullptr) {
        found = find_metric(name, table);
      }
    }
    if (is_set) continue;
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const MetricTable table : tables)
        for (const Metric* each : table) known.push_back(each->name);
      return fail(ErrorKind::bad_argument, "there is no metric '{}'; there are: default, all, {}", name,
                  fmt::join(known, ", "));
    }
    add_metric(plan, found);
  }
  return {};
}

}  // namespace

// In the order reports print them.
MetricTable metrics() {
  static constexpr const Metric* kTable[] = {
      &max_abs_metric,  &rel_l2_metric,    &rel_l2_rest_metric,   &cosine_metric,     &ulp_max_metric,
      &mean_abs_metric, &equal_metric,     &nonfinite_metric,     &worst_metric,      &mine_metric,
      &golden_metric,   &max_rel_metric,   &mean_rel_metric,      &not_close_metric,  &l1_metric,
      &kl_metric,       &bias_metric,      &sqnr_metric,          &l2_metric,         &rel_l2_squared_metric,
      &ulp_mean_metric, &ulp_p99_metric,   &abs_quantiles_metric, &golden_rms_metric, &crc32_metric,
      &md5_metric,      &stat_diff_metric, &checksum_metric,      &arg_max_metric,    &bound_metric,
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

Result<MetricPlan> plan_metrics(std::span<const std::string> names, MetricTable more) {
  MetricPlan plan;
  ASSAY_TRY_DO(add_from({metrics(), more}, names, plan));
  return plan;
}

Result<void> add_metrics(MetricPlan& plan, std::span<const std::string> names) {
  return add_from({metrics()}, names, plan);
}

}  // namespace assay
