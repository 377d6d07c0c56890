#include "cli/msit/compare.h"

#include "assay/base/listing.h"
#include "assay/base/text.h"
#include "assay/compat/msit/matchers.h"
#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msit/profile.h"
#include "assay/compat/msit/rules.h"
#include "assay/run/compare/compare.h"
#include "assay/run/resources.h"
#include "assay/support/json_tape.h"
#include "assay/support/log.h"
#include "cli/mapping_flags.h"
#include "cli/msit/algorithms.h"
#include "cli/msit/reports.h"
#include "cli/msit/torchair.h"
#include "cli/twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::cli {
namespace {

using Level = MsitCompareFlags::CompareLevel;

Result<void> measure_as_msit(CompareRequest& request, bool is_stats) {
  const std::vector<std::string> names = is_stats ? std::vector<std::string>{"msit_stated"}
                                                  : std::vector<std::string>{"msit_similarity", "msit", "kl"};
  ASSAY_TRY(request.metrics, plan_metrics(names, msit_metrics()));
  request.shown_columns = request.metrics.columns;
  request.add_stated_columns = false;
  request.rule_set = &msit_rules;
  request.side_statistics = is_stats ? SideStatistics::none : SideStatistics::as_f32;
  return {};
}

CompareRequest request_of(const MsitCompareFlags& flags, const Context& context) {
  CompareRequest request;
  request.mine = flags.mine;
  request.golden = flags.golden;
  limit_files(request.open.format, 0, 0, flags.trusted);
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  return request;
}

// ----- two files

Result<void> compare_files(const MsitCompareFlags& flags, Tool tool, const Context& context) {
  CompareRequest request = request_of(flags, context);
  ASSAY_TRY_DO(measure_as_msit(request, false));
  request.matching.given = std::make_shared<const Matcher>(msit_file_matcher);
  MsitStyle style;
  style.is_ait = tool == Tool::ait;
  ASSAY_TRY(const auto algorithms, add_algorithms(flags.algorithms, request, style));
  ReportSet reports;
  auto [sink, seen] = make_witness();
  seen->style = style;
  reports.add(std::move(sink));
  const Profile profile = msit_profile(style);
  if (flags.wants_files && flags.reports.empty())
    reports.add(find_output("csv")->open({flags.output, &profile}));
  ASSAY_TRY_DO(add_native_reports(flags.reports, flags.output, reports));
  ASSAY_TRY(const CompareOutcome outcome, compare(request, reports));
  if (!seen->trouble.empty()) return fail(ErrorKind::bad_format, "{}", seen->trouble);
  log::info("Compared results: {}", seen->text);
  say_where(outcome);
  return require_enough(outcome.summary);
}

// ----- two dumps

// One that is wrong is said and not used, as the original does.
std::shared_ptr<const OpMapping> op_mapping_of(const fs::path& given, int64_t memory) {
  const auto mapping = read_op_mapping(given, memory);
  if (!mapping) {
    log::error("Invalid op_mapping file: {}", mapping.error().message);
    return {};
  }
  log::info("Using user-specified op_mapping from file: {}", display(op_mapping_file(given)));
  return *mapping;
}

// ".../0_4001/3" and ".../cpu_4000/3/" mean this token and no other.
bool names_a_token(const fs::path& path) {
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().native();
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// Which tokens the two dumps have, in the words of Python; sections come one by one.
class TokensSeen {
 public:
  // Whether the section is to be compared: both sides have this token, or any two may be.
  bool note(const Indexed& frames, bool any_tokens) {
    for (const Frame& frame : frames.mine) note(mine_, frame.at);
    for (const Frame& frame : frames.golden) note(golden_, frame.at);
    if (frames.mine.empty() || frames.golden.empty()) return false;
    const At &own = frames.mine[0].at, &other = frames.golden[0].at;
    const bool is_common = any_tokens || (own.token == other.token && own.part == other.part);
    any_common_ |= is_common;
    return is_common;
  }
  bool any_common() const { return any_common_; }
  const std::vector<std::string>& of_mine() const { return mine_; }
  const std::vector<std::string>& of_golden() const { return golden_; }

 private:
  static void note(std::vector<std::string>& seen, const At& at) {
    std::string token = at.token >= 0 ? fmt::format("{}", at.token) : python_repr(at.part);
    if (std::find(seen.begin(), seen.end(), token) == seen.end()) seen.push_back(std::move(token));
  }

  std::vector<std::string> mine_, golden_;
  bool any_common_ = false;
};

// Null: it is none, or has nothing but a warm-up that the path does not point at.
std::shared_ptr<const Dump> open_inference_dump(const fs::path& path, const OpenOptions& options) {
  auto dump = open_dump(path, options);
  if (!dump || (dump->layout->name != "atb" && dump->layout->name != "torch_hook")) return nullptr;
  const bool is_meant = std::ranges::any_of(dump->frames, [&](const FrameInfo& frame) {
    std::error_code ignored;
    return frame.at.part != kWarmUp || fs::equivalent(frame.paths.at(0), path, ignored);
  });
  return is_meant ? std::make_shared<const Dump>(std::move(*dump)) : nullptr;
}

Result<void> compare_dumps(CompareRequest request, const MsitCompareFlags& flags, Tool tool) {
  ASSAY_TRY_DO(measure_as_msit(request, flags.stats));
  // msit pairs logits as it pairs operators; ait had a level for them alone.
  const bool is_token = flags.level == Level::token || (flags.level == Level::logits && tool == Tool::ait);
  const bool is_sheets = flags.level == Level::all && !flags.stats && tool == Tool::msit;
  MsitMatching matching{.levels = {"layer", "module", "api"}, .repeats_batch = tool == Tool::ait};
  if (!is_sheets)
    matching.levels = {flags.level == Level::layer    ? "layer"
                       : flags.level == Level::module ? "module"
                                                      : "api"};
  request.matching.given =
      std::make_shared<const Matcher>(is_token ? msit_token_matcher() : msit_matcher(matching));
  if (flags.mapping) {
    request.matching.op_mapping = op_mapping_of(*flags.mapping, request.open.format.memory);
  }
  request.least_compared = kLeastPaired;  // two systems dump much that the other has no like of
  TokensSeen tokens;
  request.matching.any_tokens = names_a_token(flags.mine) && names_a_token(flags.golden);
  request.admit = [&](const Matched& matched) -> Result<bool> {
    return tokens.note(matched.frames, request.matching.any_tokens);
  };
  MsitStyle style;
  style.is_ait = tool == Tool::ait;
  style.is_stats = flags.stats;
  style.is_sheets = is_sheets;
  ASSAY_TRY(const auto algorithms, add_algorithms(flags.algorithms, request, style));
  const Profile profile = msit_profile(style);
  ReportSet reports;
  reports.add(find_output(is_sheets ? "xlsx" : "csv")->open({flags.output, &profile}));
  ASSAY_TRY_DO(add_native_reports(flags.reports, flags.output, reports));
  auto [sink, seen] = make_witness();
  seen->all_levels = is_sheets;
  reports.add(std::move(sink));
  ASSAY_TRY(const CompareOutcome outcome, compare(request, reports));
  if (!tokens.any_common())
    log::error("my tokens is [{}] and golden tokens is [{}]. The two cannot be matched.",
               fmt::join(tokens.of_mine(), ", "), fmt::join(tokens.of_golden(), ", "));
  say_where(outcome);
  say_what_is_left_out(*seen, is_sheets);
  return require_enough(outcome.summary);
}

// ----- weights of two checkpoints

// A checkpoint of which nothing can be read is an error, with the reason of its first file.
Result<void> check_checkpoint(const std::vector<Frame>& frames, const fs::path& path) {
  std::string_view trouble;
  for (const Frame& frame : frames)
    for (const Node& node : frame.nodes)
      for (const Item& item : node.items) {
        if (item.data) return {};
        if (trouble.empty()) trouble = item.trouble;
      }
  if (!trouble.empty()) return fail(ErrorKind::bad_format, "{}", trouble);
  return fail(ErrorKind::not_found, "No .safetensors files found in the directory. Invalid path: {}",
              display(path));
}

Result<void> compare_weights(const MsitCompareFlags& flags, Tool tool, const Context& context) {
  CompareRequest request = request_of(flags, context);
  ASSAY_TRY_DO(measure_as_msit(request, false));
  request.open.layout = "folder";
  request.open.only = {"*.safetensors:*", "*.bin:*", "*.safetensors",
                       "*.bin"};  // the last two: unreadable ones
  request.matching.given = std::make_shared<const Matcher>(weight_matcher);
  request.admit = [&flags](const Matched& matched) -> Result<bool> {
    ASSAY_TRY_DO(check_checkpoint(matched.frames.golden, flags.golden));
    ASSAY_TRY_DO(check_checkpoint(matched.frames.mine, flags.mine));
    return true;
  };
  MsitStyle style;
  style.is_ait = tool == Tool::ait;
  style.is_weight = true;
  ASSAY_TRY(const auto algorithms, add_algorithms(flags.algorithms, request, style));
  const Profile profile = msit_profile(style);
  ReportSet reports;
  reports.add(find_output("csv")->open({flags.output, &profile}));
  auto [sink, seen] = make_witness();
  reports.add(std::move(sink));
  ASSAY_TRY_DO(add_native_reports(flags.reports, flags.output, reports));
  ASSAY_TRY(const CompareOutcome outcome, compare(request, reports));
  if (!seen->trouble.empty()) log::error("{}", seen->trouble);
  say_where(outcome);
  return require_enough(outcome.summary);
}

TorchairJob torchair_job(const MsitCompareFlags& flags, Tool tool) {
  TorchairJob job{flags.mine, flags.golden, flags.output};
  job.trusted = flags.trusted;
  job.reports = flags.reports;
  job.algorithms = flags.algorithms;
  job.is_ait = tool == Tool::ait;
  if (flags.rank && *flags.rank <= INT32_MAX) job.rank = static_cast<int>(*flags.rank);
  return job;
}

}  // namespace

int run_msit_compare(const MsitCompareFlags& flags, Tool tool, const Context& context) {
  const ListingMemory memory;
  if (flags.weight) {
    const auto done = compare_weights(flags, tool, context);
    return done ? 0 : end_msit(tool, done.error());
  }
  std::error_code ignored;
  if (fs::is_regular_file(flags.mine, ignored) && fs::is_regular_file(flags.golden, ignored)) {
    const auto done = compare_files(flags, tool, context);
    return done ? 0 : end_msit(tool, done.error());
  }
  if (is_torchair_dump(flags.mine)) {
    const auto done = compare_torchair(torchair_job(flags, tool), context);
    return done ? 0 : end_msit(tool, done.error());
  }
  CompareRequest request = request_of(flags, context);
  request.open.warm_up = tool == Tool::msit;
  for (const bool is_golden : {true, false}) {
    const fs::path& path = is_golden ? flags.golden : flags.mine;
    auto& opened = is_golden ? request.opened_golden : request.opened_mine;
    opened = open_inference_dump(path, request.open);
    if (opened == nullptr) {
      log::error("cannot parse data path({}). it is not a atb dump path or a torch dump path.",
                 display(path));
      if (is_torchair_dump(flags.golden))
        log::error("{} is a GE dump of TorchAir, which is what --my-path takes: are the two swapped?",
                   display(flags.golden));
      return exit_code(Answer::not_compared);
    }
  }
  const auto done = compare_dumps(std::move(request), flags, tool);
  return done ? 0 : end_msit(tool, done.error());
}

}  // namespace assay::cli
