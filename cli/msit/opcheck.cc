#include "cli/msit/opcheck.h"

#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msit/opcheck.h"
#include "assay/report/verdict_sentence.h"
#include "assay/run/algorithms.h"
#include "assay/run/launch/dump_settings.h"
#include "assay/run/opcheck.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/tensor/cast.h"
#include "cli/msit/flags.h"
#include "cli/twins.h"

#include <algorithm>
#include <chrono>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;

constexpr std::string_view kStart = "===================Opcheck start====================";
constexpr std::string_view kEnd = "===================Opcheck end====================";

// The folder of a token in which, or in an operator of which, the path lies.
std::optional<fs::path> find_base(fs::path path) {
  for (; path.has_relative_path(); path = path.parent_path()) {
    const fs::path tensors = path.parent_path().parent_path();
    const std::string dump = tensors.parent_path().filename().native();
    if (tensors.filename() == "tensors" && (dump.starts_with("msit_dump") || dump.starts_with("ait_dump")))
      return path;
  }
  return std::nullopt;
}

Prepare casting_to(DType dtype) {
  return [dtype](Side, const fs::path&, OperandPtr data) -> Result<OperandPtr> {
    const DType own = data->meta.dtype;
    if (own != DType::f32 && own != DType::f16 && own != DType::bf16) return data;
    return cast(std::move(data), dtype);
  };
}

OpcheckStyle style_of(const Parsed& parsed) {
  OpcheckStyle style;
  style.is_first = parsed.has("--csv-path");
  for (const std::string& metric : parsed.values("--precision-metric")) {
    style.abs |= metric == "abs";
    style.cosine |= metric == "cos_sim";
    style.kl |= metric == "kl";
  }
  return style;
}

// The standard of the original lets outputs pass that no rounding explains: of zeros, beside a golden of
// zeros or NaN, single elements. The table stays equal to its; the log says so. Writes nothing.
class LenientWatch : public Sink {
 public:
  Result<void> begin(const Head&) override { return {}; }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows) {
        if (row.verdict.level != assay::Level::pass || row.bounded == nullptr || row.bounded->beyond == 0)
          continue;
        if (count_++ > 0) continue;
        first_ =
            fmt::format("{} (at [{}] {:.9g}, expected {:.9g}; {} of {} elements)", printable(row.mine.name),
                        row.bounded->worst_at, row.bounded->mine, row.bounded->expected, row.bounded->beyond,
                        row.bounded->count - row.bounded->unknown);
      }
    return {};
  }
  Result<void> end(const Summary&) override {
    if (count_ > 0)
      log::warn(
          "{} the standard of the original though no rounding explains {}; first: {}. `assay opcheck` judges "
          "each element",
          count_ == 1 ? "1 output passes" : fmt::format("{} outputs pass", count_),
          count_ == 1 ? "it" : "them", first_);
    return {};
  }

 private:
  int64_t count_ = 0;
  std::string first_;
};

Result<void> select(const Parsed& parsed, const fs::path& input, const fs::path& base, OpSelection& selection,
                    GoldenOptions& golden) {
  if (const fs::path below = input.lexically_relative(base); below != ".")
    selection.below = below.generic_string();
  ASSAY_TRY(const std::string ids, read_ids(parsed.value("--operation-ids").value_or("")));
  if (!ids.empty()) selection.ids = split_list({ids});
  if (const auto names = parsed.value("--operation-name"); names && !names->empty())
    for (const std::string& name : split_list({*names})) selection.name_parts.push_back(to_lower(trim(name)));
  selection.in_order_of_text = selection.broadcasts = true;
  if (const auto table = parsed.value("--csv-path")) {
    const auto read = select_by_table(*table, selection, golden);
    if (!read)
      return fail(ErrorKind::not_compared, "{} ({})",
                  is_file(*table) ? fmt::format("Cannot parse csv file: {}", printable(*table))
                                  : fmt::format("{} not exists", printable(*table)),
                  read.error().message);
  }
  return {};
}

Result<CompareOutcome> check(const Parsed& parsed, const fs::path& input, const fs::path& base,
                             const fs::path& output, const Context& context, size_t& cases) {
  CompareRequest request;
  request.mine = base;
  limit_files(request.open.format, 0, 0, parsed.has("--trusted"));
  request.golden_ops.memory = memory_budget(0);
  OpSelection selection;
  ASSAY_TRY_DO(select(parsed, input, base, selection, request.golden_ops));
  check_operators(std::move(selection), request);
  const std::string mode = parsed.value("--precision-mode").value_or("keep_origin_dtype");
  if (mode != "keep_origin_dtype")
    request.prepare = casting_to(mode == "force_fp16" ? DType::f16 : DType::f32);
  OpcheckStyle style = style_of(parsed);
  style.params = request.golden_ops.params;
  const std::vector<std::string> specs = parsed.values("--custom-algorithms");
  std::unique_ptr<Algorithms> algorithms;
  if (!specs.empty()) {
    ASSAY_TRY(algorithms, Algorithms::start(specs, Algorithms::Given::as_dumped));
    style.algorithms = algorithms->names();
    request.algorithms = algorithms.get();
  }
  const RuleSet rules = opcheck_rules(style);
  const Profile profile = opcheck_profile(style);
  request.rule_set = &rules;
  const std::vector<std::string> names = {"opcheck"};
  ASSAY_TRY(request.metrics, plan_metrics(names, msit_metrics()));
  request.shown_columns = request.metrics.columns;
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.progress = true;
  request.admit = [&input, &cases](const Matched& matched) -> Result<bool> {
    cases = matched.pairing.nodes.size();
    log::info("Total {} cases found under path: {}", cases, display(input));
    for (const PairedNode& node : matched.pairing.nodes)
      log::info("———————— {} {} test start ————————", op_id(node.name), op_name(node.name));
    return true;
  };
  ReportSet reports;
  reports.add(find_output("xlsx")->open({output, &profile}));
  // Of tensors that were cast, the bounds of what was computed before say nothing.
  if (mode == "keep_origin_dtype") reports.add(std::make_unique<LenientWatch>());
  return compare(request, reports);
}

Result<void> opcheck(const Parsed& parsed, const Context& context) {
  const auto started = std::chrono::steady_clock::now();
  const fs::path given = parsed.value("--input").value_or("");
  std::error_code missing;
  const fs::path input = fs::canonical(given, missing);
  if (missing) return fail(ErrorKind::not_compared, "Input path not found: {}", display(given));
  const auto base = find_base(input);
  if (!base)
    return fail(ErrorKind::not_compared, "Input path is not in msit_dump tensors directory: {}",
                display(given));
  const fs::path output = parsed.value("--output").value_or("./");
  if (!is_folder(output)) return fail(ErrorKind::not_compared, "Output path not found: {}", display(output));
  if (parsed.has("--atb-rerun") || parsed.has("--optimization-identify"))
    log::warn(
        "running operators again in atb needs a device and is not done; the dumped outputs are compared");
  log::info("Comparing outputs in dump data without rerunning operations in atb...");
  size_t cases = 0;
  ASSAY_TRY(const CompareOutcome outcome, check(parsed, input, *base, output, context, cases));
  for (const fs::path& file : outcome.files)
    log::info("Opcheck results saved to: {}", display(fs::absolute(file).lexically_normal()));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const Summary& summary = outcome.summary;
  log::info("Total cases: {}; Total time: {:.2f} seconds", cases, seconds.count());
  log::info("outputs: {} passed, {} failed, {} without a golden, {} not readable", summary.passed,
            summary.failed, summary.ignored, summary.errors);
  return require_enough(summary);
}

}  // namespace

ForeignCommand opcheck_command() {
  ForeignCommand command;
  ForeignFlag ids = {
      {"--operation-ids", "-ids"}, Takes::one, "Only these operations, e.g. 2,3_1 (default: all)"};
  ids.check = check_ids;
  ForeignFlag name = {
      {"--operation-name", "-opname"}, Takes::one, "Only operations with this in their names"};
  name.check = check_name;
  ForeignFlag device = {{"--device-id", "-device"}, Takes::one, "taken, and not used: no device is needed"};
  device.check = [](const std::string& value) { return check_number(value, 0, INT64_MAX); };
  ForeignFlag jobs = {{"--jobs", "-j"}, Takes::one, "taken, and not used: all cores are"};
  jobs.check = [](const std::string& value) { return check_number(value, 1, 8); };
  command.flags = {
      required_path_flag("--input", "-i", "input directory: a token of a dump, or an operation in one"),
      {{"--csv-path", "-c"}, Takes::one, "The table of operations of the first generation"},
      {{"--output", "-o"}, Takes::one, "Data output directory, which is there (default: ./)"},
      ids,
      name,
      {{"--precision-metric", "-metric"}, Takes::several, "Further columns", false, {"abs", "kl", "cos_sim"}},
      device,
      {{"--atb-rerun", "-rerun"}, Takes::nothing, "needs a device: the dumped outputs are compared instead"},
      algorithms_flag(),
      {{"--precision-mode", "-pmode"},
       Takes::one,
       "Cast real inputs and outputs first",
       false,
       {"keep_origin_dtype", "force_fp16", "force_fp32"}},
      msit_log_level_flag(),
      jobs,
      {{"--optimization-identify", "-opt"}, Takes::nothing, "needs a device, as -rerun does"},
      trusted_flag()};
  return command;
}

int run_msit_opcheck(const Parsed& parsed, Tool tool, const Context& context) {
  log::info("{}", kStart);
  const auto done = opcheck(parsed, context);
  const int code = done ? 0 : end_msit(tool, done.error());
  log::info("{}", kEnd);
  return code;
}

}  // namespace assay::cli
