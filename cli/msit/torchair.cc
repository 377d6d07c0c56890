#include "cli/msit/torchair.h"

#include "assay/base/text.h"
#include "assay/compat/msit/matchers.h"
#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msit/profile.h"
#include "assay/compat/msit/rules.h"
#include "assay/run/compare/compare.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/msit/algorithms.h"
#include "cli/msit/reports.h"
#include "cli/twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace assay::cli {
namespace {

// "dict_keys([0, 1])"
std::string keys_of(const std::vector<Frame>& frames) {
  std::set<int> tokens;
  for (const Frame& frame : frames) tokens.insert(frame.at.token);
  return fmt::format("dict_keys([{}])", fmt::join(tokens, ", "));
}

Result<bool> say_what_is_compared(const Matched& matched) {
  log::info("All token ids in my_dump_data: {}", keys_of(matched.frames.mine));
  log::info("All token ids in golden_dump_data: {}", keys_of(matched.frames.golden));
  for (const Frame& mine : matched.frames.mine)
    for (const Frame& golden : matched.frames.golden)
      if (mine.at.token == golden.at.token) log::info("Comparing token_id: {}", mine.at.token);
  return true;
}

// A side without folders of ranks has no rank to choose.
bool has_ranks(const Dump& dump) {
  for (const FrameInfo& frame : dump.frames)
    if (frame.at.rank >= 0) return true;
  return false;
}

Result<void> check_ranks(const Dump& mine, const Dump& golden, std::optional<int> rank) {
  const auto ranks_of = [](const Dump& dump) {
    std::set<int> ranks;
    for (const FrameInfo& frame : dump.frames) ranks.insert(frame.at.rank);
    return ranks;
  };
  const std::set<int> of_mine = ranks_of(mine), of_golden = ranks_of(golden);
  if (rank && !of_golden.contains(*rank))
    return fail(ErrorKind::not_found, "Can not get golden data in rank {}", *rank);
  if (rank && !of_mine.contains(*rank))
    return fail(ErrorKind::not_found, "Can not get my data in rank {}", *rank);
  for (const int each : of_mine)
    if (of_golden.contains(each)) return {};
  return fail(ErrorKind::not_found, "No common rank data in golden_path and my_path.");
}

bool any_graph(const Dump& dump) {
  for (const FrameInfo& frame : dump.frames)
    if (frame.graph != nullptr) return true;
  return false;
}

}  // namespace

bool is_torchair_dump(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  for (const Layout* layout : layouts())
    if (layout->name == "torchair_ge") return layout->recognise(path) > 0;
  return false;
}

Result<void> compare_torchair(const TorchairJob& job, const Context& context) {
  CompareRequest request;
  request.mine = job.mine;
  request.golden = job.golden;
  limit_files(request.open.format, 0, 0, job.trusted);
  const auto open_for_all = [&](const fs::path& path) -> Result<std::shared_ptr<const Dump>> {
    ASSAY_TRY(Dump dump, open_dump(path, request.open));
    return std::make_shared<const Dump>(std::move(dump));
  };
  ASSAY_TRY(const auto opened_mine, open_for_all(job.mine));
  ASSAY_TRY(const auto opened_golden, open_for_all(job.golden));
  const Dump &mine = *opened_mine, &golden = *opened_golden;
  if (mine.layout->name != "torchair_ge" || !any_graph(mine))
    return fail(ErrorKind::not_found,
                "Can not get ge graph, Please check whether the input path contains graph.");
  if (golden.layout->name != "torchair_ge" && golden.layout->name != "torchair_fx")
    return fail(ErrorKind::bad_format,
                "{}: is no dump of GE or FX; pass the folder that holds data_dump, graph_N or gm_*_dump",
                display(job.golden));
  const bool is_fx = golden.layout->name == "torchair_fx";
  log::info("Comparing GE with {}", is_fx ? "FX" : "GE");
  if (has_ranks(mine)) {
    if (has_ranks(golden)) {
      ASSAY_TRY_DO(check_ranks(mine, golden, job.rank));
    }
    if (job.rank) request.open.ranks = {*job.rank};  // of which alone the comparison opens them again
  } else if (job.rank) {
    log::warn("The directory structure of torchair data is old, the rank parameter will not take effect.");
  }
  if (request.open.ranks.empty()) {
    request.opened_mine = opened_mine;
    request.opened_golden = opened_golden;
  }
  const std::vector<std::string> names = {"msit_similarity", "msit", "kl"};
  ASSAY_TRY(request.metrics, plan_metrics(names, msit_metrics()));
  request.shown_columns = request.metrics.columns;
  request.add_stated_columns = false;
  request.rule_set = &msit_rules;
  request.side_statistics = SideStatistics::as_f32;
  request.matching.given =
      std::make_shared<const Matcher>(is_fx ? msit_ge_fx_matcher() : msit_ge_fusion_matcher());
  request.admit = say_what_is_compared;
  request.least_compared = kLeastPaired;  // compilers leave much of a graph without a counterpart
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  MsitStyle style;
  ASSAY_TRY(const auto algorithms, add_algorithms(job.algorithms, request, style));
  style.is_torchair = true;
  style.is_msprobe = job.is_msprobe;
  style.is_ait = job.is_ait;
  const Profile profile = msit_profile(style);
  ReportSet reports;
  reports.add(per_section([&] { return find_output("csv")->open({job.output, &profile}); }));
  ASSAY_TRY_DO(add_native_reports(job.reports, job.output, reports));
  auto [sink, seen] = make_witness();
  reports.add(std::move(sink));
  ASSAY_TRY(const CompareOutcome outcome, compare(request, reports));
  say_where(outcome);
  say_what_is_left_out(*seen, false);
  if (outcome.one_sided > 0)
    return fail(ErrorKind::not_compared, "NOT COMPARED: {} that only one side has",
                outcome.one_sided == 1 ? "1 graph" : fmt::format("{} graphs", outcome.one_sided));
  return require_enough(outcome.summary);
}

}  // namespace assay::cli
