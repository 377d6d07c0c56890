#include "cli/msprobe/atb.h"

#include "assay/base/path_kind.h"
#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/rules.h"
#include "assay/dump/atb_round.h"
#include "assay/run/compare/compare.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/twins.h"

#include <algorithm>

namespace assay::cli {
namespace {

constexpr std::string_view kInvalid = "Unvalid ATB dump data";  // its word

Result<void> check(const MsprobeAtbJob& job) {
  std::error_code ignored;
  for (const fs::path& path : {job.golden, job.mine})
    if (!fs::exists(path, ignored))
      return fail(ErrorKind::not_found, "path does not exist, please check! {}", display(path));
  if (is_folder(job.mine) != is_folder(job.golden))
    return fail(ErrorKind::bad_argument,
                "The golden_path and target_path should be both files or directories");
  return {};
}

// Tensors against statistics are no comparison; two rounds without a common tensor have no table.
Result<bool> admit(const Matched& matched) {
  const auto &mine = matched.frames.mine, &golden = matched.frames.golden;
  if (mine.empty() || golden.empty() || mine[0].nodes.empty() || golden[0].nodes.empty() ||
      mine[0].content != golden[0].content)
    return fail(ErrorKind::mismatch, "{}", kInvalid);
  const auto is_named_alike = [](const Pair& pair) { return pair.why == Why::same_name; };
  return std::any_of(matched.pairing.nodes.begin(), matched.pairing.nodes.end(), [&](const PairedNode& node) {
    return std::any_of(node.pairs.begin(), node.pairs.end(), is_named_alike);
  });
}

}  // namespace

Result<void> run_msprobe_atb(const MsprobeAtbJob& job, const Context& context) {
  ASSAY_TRY_DO(check(job));
  if (!is_folder(job.mine))
    return fail(ErrorKind::not_compared,
                "Comparison between ATB data files is not yet supported; 'assay compare {} {}' compares them",
                display(job.mine), display(job.golden));
  CompareRequest request;
  request.mine = job.mine;
  request.golden = job.golden;
  request.open.given = &atb_statistic_layout;
  limit_files(request.open.format, 0, 0);
  request.matching.matcher = "name";
  const std::vector<std::string> names = {"msprobe_cosine",  "l2",         "max_abs",  "mine", "golden",
                                          "nonfinite_kinds", "msprobe_g3", "stat_diff"};
  ASSAY_TRY(request.metrics, plan_metrics(names, msprobe_metrics()));
  request.shown_columns = request.metrics.columns;
  request.add_stated_columns = false;
  request.side_statistics = SideStatistics::as_f32;
  request.rule_set = &msprobe_atb_rules;
  request.admit = admit;
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.progress = true;
  const Profile profile = msprobe_atb_profile();
  ReportSet reports;
  reports.add(per_section([&] { return find_output("xlsx")->open({job.output, &profile}); }));
  const auto outcome = compare(request, reports);
  if (!outcome && outcome.error().kind == ErrorKind::mismatch)
    return fail(ErrorKind::not_compared, "{}", outcome.error().message);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  for (const fs::path& file : outcome->files)
    log::info("Complete ATB dump data comparison. Comparison result has been saved at {}",
              display(fs::absolute(file).lexically_normal()));
  if (outcome->files.empty()) log::warn("The two rounds have no tensor in common; there is no report");
  return require_enough(outcome->summary);
}

}  // namespace assay::cli
