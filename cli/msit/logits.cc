#include "cli/msit/logits.h"

#include "assay/base/text.h"
#include "assay/compat/msit/logits_profile.h"
#include "assay/compat/msit/logits_rules.h"
#include "assay/compat/msit/metric/metrics.h"
#include "assay/report/cells.h"
#include "assay/run/compare/compare.h"
#include "assay/run/resources.h"
#include "assay/support/json_tape.h"
#include "assay/support/log.h"
#include "cli/twins.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;

// NaN is in no order: the original takes it, and nothing passes.
std::optional<std::string> check_limit(const std::string& text, std::string_view name, double least,
                                       double most) {
  const auto value = parse_double(trim(text));
  if (!value) return fmt::format("{} is invalid. Please check.", name);
  if (*value < least || *value > most)
    return fmt::format("{}: {} is an invalid float value", name, printable(text));
  return std::nullopt;
}

ForeignFlag limit_flag(std::string_view name, std::string_view letters, std::string_view help,
                       std::optional<std::string> (*check)(const std::string&)) {
  ForeignFlag flag = {{name, letters}, Takes::one, help};
  flag.check = check;
  return flag;
}

double limit(const Parsed& parsed, std::string_view flag, double unless_given) {
  const auto text = parsed.value(flag);
  return text ? parse_double(trim(*text)).value_or(unless_given) : unless_given;
}

std::string python_number(double value) {
  std::string out;
  append_written_csv(out, value, "");
  return out;
}

const Item& item_of(const std::vector<Frame>& frames, const ItemId& id) {
  const Frame& frame = frames[static_cast<size_t>(id.frame)];
  return frame.nodes[static_cast<size_t>(id.node)].items[static_cast<size_t>(id.item)];
}

// The lines that the original writes of each file, all of them before the first is read.
void log_file(const Item& file) {
  const std::string name = python_repr(file.name);
  log::info("Start processing file: {}", name);
  constexpr std::string_view kBadName = "parse_error:";
  if (file.trouble.starts_with(kBadName))
    log::warn("There is a invalid file, parse_error: {}", file.trouble.substr(kBadName.size()));
  else
    log::info("Load file: {} , calculate cosine_similarity kl_divergence l1_norm ulp", name);
}

Result<bool> admit_common_files(const Matched& matched) {
  bool any_common = false;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      if (!pair.mine || !pair.golden) continue;
      any_common = true;
      log_file(item_of(matched.frames.mine, *pair.mine));
    }
  if (any_common) return true;
  return fail(ErrorKind::not_found,
              "Please ensure that both --my-path and --golden-path have same name files.");
}

LogitsLimits limits_of(const Parsed& parsed) {
  const std::string dtype = parsed.value("--dtype").value_or("fp16");
  return {limit(parsed, "--cosine-similarity", 0.999), limit(parsed, "--kl-divergence", 0.0001),
          limit(parsed, "--l1-norm", 0.01),
          dtype == "bf16"   ? DType::bf16
          : dtype == "fp32" ? DType::f32
                            : DType::f16};
}

Result<CompareRequest> logits_request(const Parsed& parsed, const Context& context) {
  CompareRequest request;
  request.golden = parsed.value("--golden-path").value_or("");
  request.mine = parsed.value("--my-path").value_or("");
  ASSAY_TRY_DO(check_folder(request.golden));
  ASSAY_TRY_DO(check_folder(request.mine));
  request.open.layout = "logits";
  limit_files(request.open.format, 0, 0, parsed.has("--trusted"));
  const std::vector<std::string> names = {"logits", "kl", "mine", "golden", "nonfinite"};
  ASSAY_TRY(request.metrics, plan_metrics(names, msit_metrics()));
  request.shown_columns = request.metrics.columns;
  request.add_stated_columns = false;
  request.side_statistics = SideStatistics::own_type;  // whether a side of another shape is finite
  request.admit = admit_common_files;
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.progress = true;
  return request;
}

Result<void> compare_logits(const Parsed& parsed, const Context& context) {
  const fs::path output = parsed.value("--output-dir").value_or("./output");
  ASSAY_TRY_DO(check_output_folder(output));
  ASSAY_TRY(CompareRequest request, logits_request(parsed, context));
  const LogitsLimits limits = limits_of(parsed);
  const RuleSet rules = logitscmp_rules(limits);
  request.rule_set = &rules;
  log::info("Compare the logits of 'golden' and 'my', and calculate the result");
  const Profile profile = logitscmp_profile(limits.dtype);
  ReportSet reports;
  reports.add(find_output("csv")->open({output, &profile}));
  ASSAY_TRY(const CompareOutcome outcome, compare(request, reports));
  log::info("Compare with the baseline, cosine_similarity: {},kl_divergence: {}, l1_norm: {}",
            python_number(limits.cosine), python_number(limits.kl), python_number(limits.l1));
  const Summary& summary = outcome.summary;
  log::info("{} of {} files passed", summary.passed, summary.rows);
  for (const fs::path& file : outcome.files)
    log::info("Save compare result to '{}'", display(fs::absolute(file).lexically_normal()));
  ASSAY_TRY_DO(require_enough(summary));
  log::info("Success compare logits of 'golden data' and 'my data'");
  return {};
}

}  // namespace

ForeignCommand logitscmp_command() {
  ForeignCommand command;
  command.flags = {
      required_path_flag("--golden-path", "-gp",
                         "Golden result to compare with. It must be a valid folder path"),
      required_path_flag("--my-path", "-mp",
                         "My result to compare with the golden. It must be a valid folder path"),
      trusted_flag(),
      limit_flag("--cosine-similarity", "-cs", "Metric value of cosine similarity, default 0.999",
                 [](const std::string& text) { return check_limit(text, "Cosine similarity", -1, 1); }),
      limit_flag("--kl-divergence", "-kl", "Metric value of KL divergence, default 0.0001",
                 [](const std::string& text) { return check_limit(text, "KL_divergence", 0, INFINITY); }),
      limit_flag("--l1-norm", "-l1", "Metric value of L1_Norm, default 0.01",
                 [](const std::string& text) { return check_limit(text, "L1_Norm", -1, INFINITY); }),
      {{"--dtype", "-d"},
       Takes::one,
       "The data precision types required for calculating ULP, default fp16",
       false,
       {"fp16", "bf16", "fp32"}},
      {{"--output-dir", "-o"}, Takes::one, "Data output directory. default=./output"},
      msit_log_level_flag()};
  return command;
}

int run_logitscmp(const Parsed& parsed, Tool tool, const Context& context) {
  const auto done = compare_logits(parsed, context);
  return done ? 0 : end_msit(tool, done.error());
}

}  // namespace assay::cli
