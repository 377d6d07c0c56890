#include "cli/msprobe/job.h"

#include "assay/base/listing.h"
#include "assay/base/path_kind.h"
#include "assay/compat/msprobe/entries_in_turn.h"
#include "assay/compat/msprobe/files.h"
#include "assay/compat/msprobe/joins.h"
#include "assay/compat/msprobe/kernel_matcher.h"
#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/rules.h"
#include "assay/dump/items.h"
#include "assay/dump/msprobe.h"
#include "assay/run/compare/compare.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/mapping_flags.h"
#include "cli/msprobe/admit.h"
#include "cli/msprobe/config.h"
#include "cli/msprobe/mixed.h"
#include "cli/twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace assay::cli {
namespace {

constexpr std::string_view kFailed = "Compare failed. Please check the arguments and do it again!";
constexpr std::string_view kEnds = "msprobe compare ends successfully.";

// ----- checks of the original, with its words

Result<bool> both_folders(const MsprobeJob& job) {
  std::error_code ignored;
  for (const fs::path& path : {job.mine, job.golden})
    if (!fs::exists(path, ignored))
      return refuse(fmt::format("path does not exist, please check! {}", display(path)));
  if (is_folder(job.mine) == is_folder(job.golden)) return is_folder(job.mine);
  return refuse(job.generation == Generation::g3
                    ? "The target_path and golden_path need to be of the same type."
                    : "The npu_path and bench_path need to be of the same type.");
}

Result<void> check_head(const MsprobeHead& head, std::string_view side) {
  if (head.task.empty()) return refuse(fmt::format("Task for {} is empty, please check.", side));
  if (!head.has_data)
    return refuse(fmt::format("Missing 'data' in dump.json, please check dump.json of {}.", side));
  if (!head.data_is_object)
    return refuse(
        fmt::format("Invalid type for 'data': expected a dict. Please check dump.json of {}.", side));
  if (head.task != "tensor" && head.task != "statistics")
    return refuse(fmt::format("Compare applies only to task is tensor or statistics, not '{}'", head.task));
  return {};
}

Result<void> check_files(const fs::path& mine, const fs::path& golden, const MsprobeHead& m,
                         const MsprobeHead& g) {
  const auto named_right = [](const fs::path& path) {
    const std::string& name = path.native();
    return name.ends_with("dump.json") || name.ends_with("debug.json");
  };
  if (!named_right(mine) || !named_right(golden))
    return refuse(
        "Please check the json path is valid and ensure that neither npu_path nor bench_path is None.");
  ASSAY_TRY_DO(check_head(m, "npu"));
  ASSAY_TRY_DO(check_head(g, "bench"));
  if (m.task != g.task) return refuse("Please check the dump task is consistent.");
  return {};
}

// The k-th rank of one run is compared with the k-th of the other; folders must hold nothing but ranks.
// Generation 3 also knows runs without ranks, of one process each.
Result<void> check_ranks(const MsprobeJob& job) {
  std::array<size_t, 2> counts = {0, 0}, processes = {0, 0};
  const std::array<fs::path, 2> sides = {job.mine, job.golden};
  for (size_t i = 0; i < sides.size(); ++i) {
    std::error_code error;
    for (fs::directory_iterator it(sides[i], error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().native();
      const bool is_numbered = name.find_first_not_of("0123456789", 4) == std::string::npos;
      if (name.starts_with("rank") && is_numbered) {
        ++counts[i];
      } else if (job.generation == Generation::g3) {
        processes[i] += name.starts_with("proc") && name.size() > 4 && is_numbered ? 1 : 0;
      } else {
        return refuse(
            fmt::format("dump_dir contains '{}'. Expected 'rank'. This name is not in the format of dump "
                        "output. Please check and delete irrelevant files in {} and try again.",
                        name, display(sides[i])));
      }
    }
  }
  if (counts[0] != counts[1])
    return refuse(
        "The number of ranks in the two runs are different. Unable to match the ranks. Please use another "
        "folder to compare or use compare() api and manually match the ranks.");
  if (counts[0] > 0 || processes[0] + processes[1] == 0) return {};
  for (size_t i = 0; i < sides.size(); ++i)
    if (processes[i] != 1)
      return refuse(
          fmt::format("No or multiple proc directories were found in the <{}>. Expected exactly one. 'assay "
                      "compare' pairs several in the order of their numbers.",
                      display(sides[i])));
  return {};
}

// ----- the request

Result<void> choose_matching(const MsprobeJob& job, CompareRequest& request) {
  if (job.is_pytorch && (job.api.on || (job.cell.on && job.generation != Generation::g3)))
    return refuse(job.generation == Generation::g3
                      ? "Argument -am is not supported in PyTorch framework"
                      : "Argument -cm or -am is not supported in PyTorch framework");
  MappingFlags flags;
  flags.uneven = job.generation == Generation::g1 ? UnevenLists::pass_over : UnevenLists::pair_outputs;
  flags.api = job.api;
  flags.cell = job.cell;
  flags.data = job.data;
  if (!job.is_pytorch) flags.layer = job.layer;
  if (job.generation == Generation::g1) {  // layers or names by hand go before cells, and these before APIs
    if (flags.layer.on || flags.data) flags.cell = {};
    if (flags.layer.on || flags.data || flags.cell.on) flags.api = {};
  }
  ASSAY_TRY(Mappings mappings, read_mappings(flags));
  mappings.cells_by_part = job.generation == Generation::g3;
  if (mappings.by_layer) mappings.data.reset();
  request.open.structure = mappings.by_layer;  // choose_stack asks
  MatchOptions& options = request.matching;
  options.mappings = std::make_shared<const Mappings>(std::move(mappings));
  options.fuzzy = job.fuzzy;
  if (job.generation == Generation::g1 && job.is_pytorch && !options.mappings->any())
    options.given = std::make_shared<const Matcher>(entries_in_turn_matcher);
  if (job.consistent) options.given = consistent_matcher(*job.consistent, job.csv ? ";  " : ";\n");
  options.join_fuzzily = msprobe_fuzzy_join(job.generation, *options.mappings);
  options.join = msprobe_join(job.generation, *options.mappings);
  options.mapped_join = {.every = true};
  options.renumber_backward = job.generation == Generation::g3;
  options.frames_in_order = true;
  if (job.generation == Generation::g1) options.order_ranks = order_ranks_by_name;
  return {};
}

std::string_view generation_name(Generation generation) {
  return generation == Generation::g1 ? "g1" : generation == Generation::g2 ? "g2" : "g3";
}

std::string_view differences_of(const MsprobeJob& job, bool as_python) {
  if (job.kernels || as_python) return "stat_diff";
  return job.generation == Generation::g3 ? "stat_diff_g3" : "stat_diff_g2";
}

std::string errors_of(const MsprobeJob& job) {
  if (job.kernels && job.generation == Generation::g3) return "msprobe_kernel";
  const bool as_doubles = job.kernels && job.generation == Generation::g1;
  return fmt::format("msprobe_{}{}", as_doubles ? "kernel_" : "", generation_name(job.generation));
}

Result<void> choose_metrics(const MsprobeJob& job, bool has_data, bool as_python, CompareRequest& request) {
  std::vector<std::string> names = {std::string(differences_of(job, as_python))};
  if (has_data)
    for (const std::string_view name :
         {"msprobe_cosine", "l2", "max_abs", "mine", "golden", "nonfinite_kinds", "worst"})
      names.emplace_back(name);
  if (has_data) names.push_back(errors_of(job));
  ASSAY_TRY(request.metrics, plan_metrics(names, msprobe_metrics()));
  request.shown_columns = request.metrics.columns;
  request.add_stated_columns = false;
  return {};
}

Result<CompareRequest> base_request(const MsprobeJob& job, const Context& context) {
  CompareRequest request;
  request.mine = job.mine;
  request.golden = job.golden;
  request.threads = job.threads;
  limit_files(request.open.format, job.memory, job.threads, job.trusted);
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.admit = admit;
  request.open.few_kinds_of_arguments = request.open.names_statistics_by_place =
      job.generation == Generation::g1;
  request.progress = true;
  ASSAY_TRY_DO(choose_matching(job, request));
  return request;
}

void log_banner() {
  const std::string line(84, '*');
  log::info("{}", line);
  log::info("*{:^82}*", kEnds);
  log::info("{}", line);
}

// ----- reports

using MakeSink = std::function<std::unique_ptr<Sink>()>;

Result<void> add_native_reports(const MsprobeJob& job, ReportSet& reports) {
  for (const std::string& name : job.reports) {
    const Output* const output = find_output(name);
    if (output == nullptr || !output->to_stdout)
      if (output == nullptr || name == "terminal")
        return refuse(fmt::format("--report: there is no report '{}'", name));
    reports.add(output->open({job.output, &native_profile}));
  }
  return {};
}

// Table, log lines, advice: one set per rank.
MakeSink table_sinks(const MsprobeJob& job, const Profile& profile, bool per_rank) {
  return [&job, &profile, per_rank] {
    const Output& output = *find_output(job.csv ? "csv" : "xlsx");
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(output.open({job.output, &profile}));
    sinks.push_back(msprobe_log({job.row_log, job.highlight, &profile, job.output, output.suffix}));
    if (job.advisor)
      sinks.push_back(msprobe_advisor({job.output, per_rank, job.generation == Generation::g1}, profile));
    if (job.layer.on && !job.is_pytorch) sinks.push_back(msprobe_mapping({job.output, per_rank}));
    return together(std::move(sinks));
  };
}

// Counts the ranks and steps, and remembers those that were not compared.
struct Parts {
  int64_t count = 0;
  int64_t unreadable = 0;  // rows
  std::vector<std::string> not_compared;
  std::string why;  // the last of these was not
};

// "2 of 3 rows are of other shapes, 1 has no counterpart".
std::string why_nothing(const Summary& summary) {
  std::string out;
  const auto add = [&](int64_t count, std::string_view one, std::string_view many) {
    if (count == 0) return;
    out += out.empty() ? fmt::format("{} of {} rows", count, summary.rows) : fmt::format(", {}", count);
    out += fmt::format(" {}", count == 1 ? one : many);
  };
  add(summary.misshapen, "has another shape", "have other shapes");
  add(summary.unmatched, "has no counterpart", "have no counterpart");
  add(summary.broken, "could not be read", "could not be read");
  add(summary.without_data, "has no data", "have no data");
  return out.empty() ? "there is nothing in it to compare" : out;
}

class PartCounter final : public Sink {
 public:
  explicit PartCounter(Parts& parts) : parts_(parts) {}
  Result<void> begin(const Head&) override { return {}; }
  Result<void> open_section(const Head& head) override {
    open_ = head.at.text();
    return {};
  }
  Result<void> close_section(const Summary& of_section) override {
    ++parts_.count;
    if (of_section.compared > 0) return {};
    parts_.not_compared.push_back(open_);
    parts_.why = why_nothing(of_section);
    return {};
  }
  Result<void> skip_section(const Head& head, const Error& error) override {
    ++parts_.count;
    parts_.not_compared.push_back(head.at.text());
    parts_.why = error.message;
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      parts_.unreadable += std::ranges::count(node.rows, Status::unreadable, &Comparison::status);
    return {};
  }
  Result<void> end(const Summary&) override { return {}; }

 private:
  Parts& parts_;
  std::string open_;
};

// The tables of the other ranks are whole, but a run that left one out did not succeed.
Result<void> run(CompareRequest& request, ReportSet& reports) {
  Parts parts;
  reports.add(std::make_unique<PartCounter>(parts));
  const Result<CompareOutcome> outcome = compare(request, reports);
  if (!outcome && outcome.error().kind == ErrorKind::not_compared)
    return fail(ErrorKind::not_compared, "NOT COMPARED: {}", outcome.error().message);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  ASSAY_TRY_DO(require_enough(outcome->summary));
  if (parts.unreadable > 0)  // the tables have the original's words for these, which may be "pass"
    log::warn("{} of {} rows could not be read and {} not compared", parts.unreadable, outcome->summary.rows,
              parts.unreadable == 1 ? "was" : "were");
  if (parts.not_compared.empty()) return {};
  if (parts.count == 1) return fail(ErrorKind::not_compared, "NOT COMPARED: {}", parts.why);
  return fail(ErrorKind::not_compared, "NOT COMPARED: {} of {} parts of the dump: {}",
              parts.not_compared.size(), parts.count, some_names(parts.not_compared));
}

void choose_stack(const MsprobeJob& job, bool per_rank, CompareRequest& request, MsprobeStyle& style) {
  using Stack = MsprobeStyle::Stack;
  style.stack = Stack::if_found;
  if (job.generation == Generation::g1 || (job.stack_path && !per_rank))
    style.stack = job.stack_flag ? Stack::shown : Stack::hidden;
  request.open.stacks = style.stack != Stack::hidden || request.open.structure;
  if (style.stack == Stack::shown && job.stack_path && !request.open.structure)
    request.open.stack_file = *job.stack_path;
}

fs::path rank_folder(const MsprobeJob& job, const At& at) {
  return job.mine / (at.step < 0 ? "" : fmt::format("step{}", at.step)) / msprobe_rank_name(at);
}

// Generation 1 knows no debug.json, and the search for the first difference none beside a dump.json.
bool passes_over(const MsprobeJob& job, const At& at) {
  if (at.part != "debug" || !is_folder(job.mine)) return false;
  std::error_code ignored;
  if (!fs::exists(rank_folder(job, at) / "dump.json", ignored)) return false;
  log::warn("{}: debug.json beside dump.json is not looked at here; give the two files to compare them",
            at.text());
  return true;
}

// How generation 3 prints whole numbers depends on all rows of a table.
std::function<Result<bool>(const Matched&)> note_real_columns(const MsprobeJob& job, MsprobeStyle& style) {
  const auto reals = std::make_shared<RealColumns>();
  style.real_columns = reals;
  return [reals, &job](const Matched& matched) -> Result<bool> {
    if (job.first_difference && passes_over(job, matched.frames.at)) return false;
    *reals = find_real_columns(matched);
    return admit(matched);
  };
}

Result<void> compare_tables(const MsprobeJob& job, const Context& context, bool per_rank, bool has_data) {
  log::info("Please check whether the input data belongs to you. If not, there may be security risks.");
  ASSAY_TRY(CompareRequest request, base_request(job, context));
  request.open.data = has_data;  // statistics that name files are compared all the same
  if (has_data && job.config && !job.config->empty()) {
    ASSAY_TRY(request.prepare, read_msprobe_config(*job.config, request.open.format));
  }
  MsprobeStyle style;
  style.generation = job.generation;
  style.coloured = job.highlight;
  style.per_rank = per_rank;
  const bool is_g1 = job.generation == Generation::g1, by_layer = job.layer.on && !job.is_pytorch;
  style.mapped_only = is_g1 && job.data.has_value() && !by_layer;
  style.both_ranks = is_g1;
  style.row_by_row = style.mapped_only || (is_g1 && by_layer);
  style.as_python = style.row_by_row || (is_g1 && job.is_pytorch);
  ASSAY_TRY_DO(choose_metrics(job, has_data, style.as_python, request));
  const RuleSet rules =
      msprobe_rules(job.generation, {style.as_python, job.highlight, job.fuzzy, job.consistent});
  request.rule_set = &rules;
  choose_stack(job, per_rank, request, style);
  if (const fs::path& stack = request.open.stack_file; !stack.empty() && !is_file(stack)) {
    log::error("path does not exist, please check! {}", display(stack));
    return refuse(std::string(kFailed));
  }
  if (job.generation == Generation::g3) request.admit = note_real_columns(job, style);
  if (job.generation == Generation::g1)
    request.admit = [&job](const Matched& matched) -> Result<bool> {
      if (passes_over(job, matched.frames.at)) return false;
      if (matched.frames.at.part == "debug" && is_folder(job.mine))
        return refuse(fmt::format("dump.json is not found in dump dir {}.",
                                  display(rank_folder(job, matched.frames.at))));
      return admit(matched);
    };
  const Profile profile = msprobe_profile(style);
  ReportSet reports;
  reports.add(per_section(table_sinks(job, profile, per_rank)));
  if (per_rank) reports.add(section_summary(job.output, profile));
  ASSAY_TRY_DO(add_native_reports(job, reports));
  ASSAY_TRY_DO(run(request, reports));
  log_banner();
  return {};
}

Result<void> compare_files(MsprobeJob job, const Context& context) {
  const auto checked = [&]() -> Result<bool> {
    ASSAY_TRY(const MsprobeHead mine, read_msprobe_head(job.mine));
    ASSAY_TRY(const MsprobeHead golden, read_msprobe_head(job.golden));
    ASSAY_TRY_DO(check_files(job.mine, job.golden, mine, golden));
    return mine.task == "tensor";
  }();
  if (!checked) {
    log::error("{}", checked.error().message);
    return refuse(std::string(kFailed));
  }
  if (!job.stack_path && job.generation == Generation::g2)
    log::warn(
        "Missing stack_path in the configuration file. Automatically detecting stack.json to determine "
        "whether "
        "to display NPU_Stack_Info.");
  return compare_tables(job, context, false, *checked);
}

Result<void> find_first_difference(const MsprobeJob& job, const Context& context) {
  log::info("Start finding first diff node......");
  log::info("Start searching diff node before communication.");
  ASSAY_TRY_DO(check_ranks(job));
  ASSAY_TRY(CompareRequest request, base_request(job, context));
  MsprobeStyle style;
  style.generation = job.generation == Generation::g3 ? Generation::g3 : Generation::g2;
  style.stack = MsprobeStyle::Stack::if_found;
  const RuleSet rules = msprobe_rules(style.generation, {false, job.highlight, job.fuzzy});
  request.rule_set = &rules;
  request.open.data = false;
  MsprobeJob statistics = job;
  statistics.generation = style.generation;
  ASSAY_TRY_DO(choose_metrics(statistics, false, false, request));
  if (style.generation == Generation::g3) request.admit = note_real_columns(job, style);
  ReportSet reports;
  reports.add(msprobe_first_difference({job.output, true}, msprobe_profile(style), style.generation));
  return run(request, reports);
}

Result<void> compare_ranks(const MsprobeJob& job, const Context& context) {
  if (job.first_difference) return find_first_difference(job, context);
  ASSAY_TRY_DO(check_ranks(job));
  return compare_tables(job, context, true, true);
}

Result<void> compare_kernels(const MsprobeJob& job, const Context& context) {
  log::info("Please check whether the input data belongs to you. If not, there may be security risks.");
  ASSAY_TRY(CompareRequest request, base_request(job, context));
  request.open.layout = "ms_kernel";
  request.open.null_is_zero = true;
  request.open.ranks = job.ranks;
  request.open.steps = job.steps;
  request.matching = MatchOptions{};
  request.matching.given = std::make_shared<const Matcher>(msprobe_kernel_matcher);
  request.admit = admit_kernels;
  request.side_statistics = SideStatistics::own_type;
  request.rule_set = &msprobe_kernel_rules;
  ASSAY_TRY_DO(choose_metrics(job, true, false, request));
  const Profile profile = msprobe_kernel_profile(job.generation);
  ReportSet reports;
  reports.add(per_section([&] {
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(find_output(job.csv ? "csv" : "xlsx")->open({job.output, &profile}));
    sinks.push_back(msprobe_kernel_log());
    return together(std::move(sinks));
  }));
  reports.add(section_summary(job.output, profile));
  ASSAY_TRY_DO(add_native_reports(job, reports));
  return run(request, reports);
}

// Generation 3 reads the framework from the dumps.
Result<void> recognise_framework(MsprobeJob& job) {
  const auto framework = [](const fs::path& path) -> Result<std::string> {
    OpenOptions options;
    ASSAY_TRY(const Dump dump, open_dump(path, options));
    if (dump.layout != &msprobe_layout || dump.frames.empty()) return std::string("pytorch");
    ASSAY_TRY(const MsprobeHead head, read_msprobe_head(dump.frames[0].paths[0]));
    if (!head.framework.empty()) return head.framework;
    log::warn("{}: does not name its framework; it is taken for PyTorch", display(path));
    return std::string("pytorch");
  };
  ASSAY_TRY(const std::string mine, framework(job.mine));
  ASSAY_TRY(const std::string golden, framework(job.golden));
  job.is_pytorch = mine == "pytorch" && golden == "pytorch";
  const bool known = job.is_pytorch || ((mine == "mindspore" || mine == "mindtorch") &&
                                        (golden == "pytorch" || golden == "mindspore"));
  if (known) return {};
  return refuse(fmt::format(
      "Unrecognized framework, target now is {}, golden now is {}, please check dump.json.", mine, golden));
}

}  // namespace

Result<void> run_job(const MsprobeJob& given, const Context& context) {
  const ListingMemory memory;
  MsprobeJob job = given;
  ASSAY_TRY(const bool folders, both_folders(job));
  if (folders && job.kernels) return compare_kernels(job, context);
  if (job.generation == Generation::g3) {
    ASSAY_TRY_DO(recognise_framework(job));
  }
  if (!folders) return compare_files(std::move(job), context);
  const auto compare_step = [&](const MsprobeJob& of_step) { return compare_ranks(of_step, context); };
  return is_mixed(job) ? compare_mixed(job, compare_step) : compare_ranks(job, context);
}

}  // namespace assay::cli
