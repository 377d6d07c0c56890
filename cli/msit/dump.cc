#include "cli/msit/dump.h"

#include "assay/base/text.h"
#include "assay/run/launch/atb_place.h"
#include "assay/support/log.h"
#include "cli/launch.h"
#include "cli/msit/flags.h"

#include <algorithm>
#include <cstdlib>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;

std::optional<bool> truth_of(std::string_view text) {
  const std::string word = to_lower(text);
  for (const std::string_view each : {"yes", "true", "t", "y", "1"})
    if (word == each) return true;
  for (const std::string_view each : {"no", "false", "f", "n", "0"})
    if (word == each) return false;
  return std::nullopt;
}

std::optional<std::string> check_truth(const std::string& value) {
  return truth_of(value)
             ? std::nullopt
             : std::optional<std::string>("Boolean value expected true, 1, false, 0 with case insensitive.");
}

std::optional<std::string> check_range(const std::string& value) {
  const auto range = read_range(value);
  return range ? std::nullopt : std::optional(range.error().message);
}

// What is written with blanks behind the commas arrives as several words.
std::string ids_in_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool is_apart = !out.empty() && !out.ends_with(',') && !word.starts_with(',');
    out += (is_apart ? "," : "") + word;
  }
  return out;
}

Result<std::optional<int64_t>> number_in(const Parsed& parsed, std::string_view key) {
  const auto text = parsed.value(key);
  if (!text) return std::optional<int64_t>();
  const auto number = parse_int(*text);
  if (!number) return fail(ErrorKind::bad_argument, "{}: {} is no whole number", key, printable(*text));
  return std::optional<int64_t>(*number);
}

Result<DumpSettings> settings_of(const Parsed& parsed, Tool tool) {
  DumpSettings settings;
  // The first versions of ait recorded tensors alone, after their operations ran.
  if (tool == Tool::ait) {
    settings.types = {"tensor"};
    settings.time = 1;
  }
  if (parsed.has("--type")) settings.types = parsed.values("--type");
  settings.only_descriptions = parsed.has("--only-save-desc");
  ASSAY_TRY(settings.ids, read_ids(ids_in_words(parsed.values("--save-operation-ids"))));
  ASSAY_TRY(settings.range, read_range(parsed.value("--execute-range").value_or("0,0")));
  settings.children = truth_of(parsed.value("--save-operation-child").value_or("true")).value_or(true);
  ASSAY_TRY(const auto time, number_in(parsed, "--save-time"));
  if (time) settings.time = static_cast<int>(*time);
  settings.names = parsed.value("--operation-name").value_or("");
  settings.tiling = parsed.has("--save-tiling");
  ASSAY_TRY(const auto part, number_in(parsed, "--save-tensor-part"));
  if (part) settings.part = static_cast<int>(*part);
  settings.output = parsed.value("--output").value_or("./");
  ASSAY_TRY(settings.device, number_in(parsed, "--device-id"));
  settings.log_level = parsed.value("--log-level").value_or("info");
  if (parsed.has("-seed")) {
    ASSAY_TRY(const auto seed, number_in(parsed, "-seed"));
    settings.seed = seed.value_or(2024);
  }
  settings.links = parsed.has("--enable-symlink");
  if (const auto config = parsed.value("--config-path")) {
    ASSAY_TRY_DO(check_exists(*config));
    std::error_code ignored;
    settings.config = fs::canonical(*config, ignored);
  }
  return settings;
}

// As the original asks for it, which has a probe for each ABI; ours serves both.
Result<void> check_environment() {
  const auto atb = find_atb();
  if (!atb)
    return fail(ErrorKind::not_found, "ATB_HOME_PATH from atb is required, but it is empty or invalid: {}",
                atb.error().message);
  if (!atb->abi)
    log::warn("{}: has no names of a probe: this ATB is too old to be recorded", display(atb->library));
  log::info("Info detected from ATB so is_use_cxx11: {}", atb->abi == StringAbi::cxx11 ? "True" : "False");
  ASSAY_TRY(const fs::path probe, find_probe());
  log::info("Append save_tensor_so_path: {} to LD_PRELOAD", display(probe));
  return {};
}

Result<std::vector<std::string>> command_of(const Parsed& parsed) {
  log::warn("Please ensure that your execution command is secure.");
  return split_command(parsed.value("--exec").value_or(""));
}

Result<int> dump(const Parsed& parsed, Tool tool, const Context& context) {
  ASSAY_TRY(const DumpSettings settings, settings_of(parsed, tool));
  ASSAY_TRY(const std::vector<std::string> command, command_of(parsed));
  ASSAY_TRY_DO(check_output_folder(settings.output));
  ASSAY_TRY_DO(check_environment());
  for (const std::string& remark : settings_in_vain(settings)) log::warn("{}", remark);
  const char* const ranks = std::getenv("LOCAL_WORLD_SIZE");
  if (ranks != nullptr && parse_int(ranks).value_or(0) >= 2)
    log::warn("each of several ranks started its own dump: folders are named by the second, and may be two");
  return run_dump(settings, command, context);
}

Result<int> errcheck(const Parsed& parsed) {
  ASSAY_TRY(const std::vector<std::string> command, command_of(parsed));
  const std::string given = parsed.value("--output").value_or("");
  const fs::path output = given.empty() ? fs::current_path() : fs::path(given);
  ASSAY_TRY_DO(check_output_folder(output));
  ASSAY_TRY_DO(check_environment());
  ASSAY_TRY(const CheckedRun run,
            run_check(output, parsed.has("--exit"), parsed.value("--log-level").value_or("info"), command));
  return run.status;
}

ForeignFlag exec_flag() {
  return {{"--exec"},
          Takes::one,
          "Exec command to run acltransformer model inference, without a shell. E.g: --exec \"bash run.sh\"",
          true};
}

ForeignFlag checked_flag(std::vector<std::string_view> names, std::string_view help,
                         std::optional<std::string> (*check)(const std::string&)) {
  ForeignFlag flag = {std::move(names), Takes::one, help};
  flag.check = check;
  return flag;
}

}  // namespace

ForeignCommand dump_command() {
  ForeignCommand command;
  command.flags = {
      {{"--only-save-desc", "-sd"}, Takes::nothing, "Only descriptions of tensors, no data"},
      {{"--save-operation-ids", "-ids"},
       Takes::several,
       "Only these operations, e.g. -ids 2,3_1 (default: all)"},
      checked_flag({"--execute-range", "-er"}, "Rounds, first and last in pairs. (default: 0,0)",
                   check_range),
      checked_flag({"--save-operation-child", "-child"}, "With -ids: what is inside, too. (default: True)",
                   check_truth),
      checked_flag({"--save-time", "-time"},
                   "0 before, 1 after, 2 both, 3 inputs before and outputs after. (default: 3; ait: 1)",
                   [](const std::string& value) { return check_number(value, 0, 3); }),
      checked_flag({"--operation-name", "-opname"}, "Only operations whose types begin so", check_name),
      {{"--save-tiling", "-tiling"}, Takes::nothing, "Tiling data of kernels, too"},
      exec_flag(),
      {{"--output", "-o"}, Takes::one, "Data output directory. (default: ./)"},
      checked_flag({"--save-tensor-part", "-stp"}, "0 inputs, 1 outputs, 2 both. (default: 2)",
                   [](const std::string& value) { return check_number(value, 0, 2); }),
      {{"--type"},
       Takes::several,
       "What to record. (default: tensor model; ait: tensor)",
       false,
       {kDumpTypes.begin(), kDumpTypes.end()}},
      checked_flag({"--device-id", "-device"}, "Only this device",
                   [](const std::string& value) { return check_number(value, 0, INT64_MAX); }),
      {{"-seed"}, Takes::perhaps_one, "Ask libraries to compute the same way twice (2024)"},
      {{"--enable-symlink", "-symlink"}, Takes::nothing, "Files with equal contents become links"},
      {{"--config-path", "-config"}, Takes::one, "Settings that are read again while the program runs"},
      msit_log_level_flag()};
  return command;
}

int run_msit_dump(const Parsed& parsed, Tool tool, const Context& context) {
  const auto status = dump(parsed, tool, context);
  return status ? *status : end_msit(tool, status.error());
}

ForeignCommand errcheck_command() {
  ForeignCommand command;
  command.flags = {exec_flag(),
                   {{"--type"}, Takes::several, "What to look for. (default: overflow)", false, {"overflow"}},
                   {{"--exit"}, Takes::nothing, "Stop at the first overflow"},
                   {{"--output", "-o"}, Takes::one, "Folder for the reports. (default: ./)"},
                   msit_log_level_flag()};
  return command;
}

int run_msit_errcheck(const Parsed& parsed, Tool tool, const Context&) {
  const auto status = errcheck(parsed);
  return status ? *status : end_msit(tool, status.error());
}

}  // namespace assay::cli
