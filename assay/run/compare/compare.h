// assay compare: open, index, match, measure, judge, report.
#pragma once

#include "assay/dump/layout.h"
#include "assay/judge/judge.h"
#include "assay/match/matcher.h"
#include "assay/metric/metric.h"
#include "assay/report/report.h"
#include "assay/run/compare/measure.h"

#include <functional>

namespace assay {

// Whether a section that was matched is to be compared; an error makes it a broken section.
using Admit = std::function<Result<bool>(const Matched& matched)>;
Result<bool> admit_unless_empty(const Matched& matched);

struct CompareRequest {
  fs::path mine, golden;  // without golden, the matcher says what of mine stands against what
  OpenOptions open;
  // Both, by a caller who wanted to know what they are, and with these options; null: not opened yet.
  std::shared_ptr<const Dump> opened_mine = {}, opened_golden = {};
  std::vector<std::string> sections = {};  // globs: only these ranks, steps, tokens; empty: all
  MatchOptions matching;
  MetricPlan metrics;
  std::vector<std::string> shown_columns;
  bool add_stated_columns = true;  // show differences of statistics too where a dump may have nothing else
  Question question = Question::agreement;
  const RuleSet* rule_set = &native_rules;
  RuleOptions rules;
  Admit admit = admit_unless_empty;
  OriginBy origin = OriginBy::estimate;  // running operators again: of dumps that have what that takes
  Algorithms* algorithms = nullptr;      // of the user; null: none
  SideStatistics side_statistics = SideStatistics::none;
  Prepare prepare = {};                    // of every tensor that is read
  GoldenOptions golden_ops = {};           // where the matcher has operators run again
  double least_compared = kLeastCompared;  // share of the larger side below which there is no pass
  DetailBudget details = {};               // of rows that are looked at closely; as it stands: of none
  DetailOptions detail_options = {};
  bool shows_details = false;  // in full, where an output can
  bool fail_fast = false;
  bool alone = false;  // by this process, whatever others there are
  int threads = 0;     // 0: all cores
  Moment now;
  std::string version;
  std::string command_line;
  int terminal_width = 100;
  bool wraps_verdict = false;
  bool colour = false;
  bool progress = false;
};

struct CompareOutcome {
  Summary summary;
  std::vector<fs::path> files;  // reports written
  int64_t one_sided = 0;        // parts of the dumps that were left out, since only one side has them
};

Result<CompareOutcome> compare(const CompareRequest& request, ReportSet& reports);

}  // namespace assay
