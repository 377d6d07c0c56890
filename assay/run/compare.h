// assay compare: open, index, match, measure, judge, report.
#pragma once

#include "assay/dump/layout.h"
#include "assay/judge/judge.h"
#include "assay/match/matcher.h"
#include "assay/metric/metric.h"
#include "assay/report/report.h"

namespace assay {

struct CompareRequest {
  fs::path mine, golden;
  OpenOptions open;
  MatchOptions matching;
  MetricPlan metrics;
  std::vector<std::string> shown_columns;
  const RuleSet* rule_set = &native_rules;
  RuleOptions rules;
  bool fail_fast = false;
  int threads = 0;  // 0: all cores
  Moment now;
  std::string version;
  std::string command_line;
  int terminal_width = 100;
  bool colour = false;
  bool progress = false;
};

struct CompareOutcome {
  Summary summary;
  std::vector<fs::path> files;  // reports written
};

Result<CompareOutcome> compare(const CompareRequest& request, ReportSet& reports);

}  // namespace assay
