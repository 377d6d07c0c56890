#include "cli/msprobe/command.h"

#include "assay/base/clock.h"
#include "assay/base/console.h"
#include "assay/base/text.h"
#include "assay/dump/msprobe.h"
#include "assay/support/json_tape.h"
#include "assay/support/log.h"
#include "cli/argparse.h"
#include "cli/msit/torchair.h"
#include "cli/msprobe/atb.h"
#include "cli/msprobe/job.h"
#include "cli/msprobe/parse.h"
#include "cli/twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;

constexpr std::array<std::string_view, 12> kSubcommands = {
    "parse",        "compare", "run_ut",      "multi_run_ut", "api_precision_compare", "run_overflow_check",
    "code_mapping", "graph",   "op_generate", "merge_result", "config_check",          "nan_analyze"};
// … and those of msprobe 26, which has no -f before them.
constexpr std::array<std::string_view, 10> kNewSubcommands = {
    "acc_check",    "multi_acc_check",       "merge_result",    "overflow_check",
    "config_check", "api_precision_compare", "graph_visualize", "data2db",
    "offline_dump", "install_deps"};
constexpr std::array<std::string_view, 5> kModes = {"auto", "offline_data", "torchair", "offline_model",
                                                    "atb"};

const ForeignFlag kProfile = {
    {"--profile"}, Takes::one,         "tables of msprobe 1.1 (g1), 8.x (g2) or 26 (g3)",
    false,         {"g1", "g2", "g3"}, true};
const ForeignFlag kReport = {
    {"--report"}, Takes::one, "further reports of assay: csv,json,jsonl,junit,sqlite", false, {}, true};
const ForeignFlag kThreads = {{"--threads"}, Takes::one, "threads (all cores)", false, {}, true};
const ForeignFlag kMemory = {{"--memory"}, Takes::one, "memory for what must be held (2GiB)",
                             false,        {},         true};
const ForeignFlag kTrusted = {{"--trusted"}, Takes::nothing, "no bound on what the files ask for", false, {},
                              true};

const ForeignFlag kCell = {
    {"-cm", "--cell_mapping"}, Takes::perhaps_one, "<optional> The cell mapping file path."};
const ForeignFlag kApi = {
    {"-am", "--api_mapping"}, Takes::perhaps_one, "<optional> The api mapping file path."};
const ForeignFlag kData = {{"-dm", "--data_mapping"}, Takes::one, "<optional> The data mapping file path."};
const ForeignFlag kLayer = {
    {"-lm", "--layer_mapping"}, Takes::perhaps_one, "<optional> The layer mapping file path."};
const ForeignFlag kDiff = {{"-da", "--diff_analyze"},
                           Takes::nothing,
                           "<optional> Whether to perform a diff analyze on the api name."};
const ForeignFlag kOutput = {{"-o", "--output_path"},
                             Takes::perhaps_one,
                             "<Required> The compare task result out path. Default path: ./output"};

const ForeignCommand kOldCommand = {
    "msprobe compare",
    {{{"-i", "--input_path"}, Takes::one, "<Required> The compare input path, a dict json.", true},
     kOutput,
     {{"-s", "--stack_mode"}, Takes::nothing, "<optional> Whether to save stack info."},
     {{"-c", "--compare_only"}, Takes::nothing, "<optional> Whether to give advisor."},
     {{"-f", "--fuzzy_match"},
      Takes::nothing,
      "<optional> Whether to perform a fuzzy match on the api name."},
     {{"-hl", "--highlight"}, Takes::nothing, "<optional> Whether to set result highlighting."},
     kCell,
     kApi,
     kData,
     kLayer,
     kDiff,
     kProfile,
     kReport,
     kThreads,
     kMemory,
     kTrusted}};

const ForeignCommand kNewCommand = {
    "msprobe compare",
    {{{"-m", "--mode"}, Takes::one, "<optional> Comparison mode.", false, {kModes.begin(), kModes.end()}},
     {{"-tp", "--target_path"}, Takes::one, "<Required> The compare target device path", true},
     {{"-gp", "--golden_path"}, Takes::one, "<Required> The compare golden device path", true},
     kOutput,
     {{"--xlsx"},
      Takes::nothing,
      "<optional> Save compare results in xlsx format. Default output format is csv."},
     {{"-fm", "--fuzzy_match"},
      Takes::nothing,
      "<optional> Whether to perform a fuzzy match on the api name."},
     kCell,
     kApi,
     kData,
     kLayer,
     kDiff,
     {{"-tensor_log", "--is_print_compare_log"},
      Takes::nothing,
      "<Optional> whether print compare log for compare auto mode task."},
     {{"--rank"}, Takes::one, "<optional> Ranks to compare when compare kernel of MindSpore."},
     {{"--step"}, Takes::one, "<optional> Steps to compare when compare kernel of MindSpore."},
     {{"--consistent_check"}, Takes::nothing, "<optional> Whether to compare train and infer data."},
     {{"--backend"},
      Takes::one,
      "<optional> Backend when comparing train and infer data.",
      false,
      {"fsdp", "megatron"}},
     {{"--config"}, Takes::one, "<optional> The tensor postprocess config file path."},
     // Of modes that are not served.
     {{"-fr", "--fusion_rule_file"}, Takes::one, "<Optional> The fusion rule file path."},
     {{"-qfr", "--quant_fusion_rule_file"}, Takes::one, "<Optional> The quant fusion rule file path."},
     {{"-cfr", "--close_fusion_rule_file"}, Takes::one, "<Optional> The close fusion rule file path."},
     {{"--input_data"}, Takes::one, "The input data path of the model."},
     {{"--input_shape"}, Takes::one, "Shape of input shape."},
     {{"--output_size"}, Takes::one, "The size of output."},
     {{"--dym_shape_range"}, Takes::one, "Dynamic shape range using in dynamic model."},
     {{"-ofs", "--onnx_fusion_switch"}, Takes::one, "Onnxruntime fusion switch."},
     kProfile,
     kReport,
     kThreads,
     kMemory,
     kTrusted}};

// ----- the log of msprobe: stdout, one line each

void write_log_line(log::Level level, std::string_view text) {
  const auto now = read_clock();
  std::string line =
      fmt::format("{} ({}) [{}] ", now ? local_time(*now) : "", ::getpid(), python_level(level));
  for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '_' : c;
  static_cast<void>(console::write_line(console::Stream::out, line));
}

void open_log() {
  log::set_writer(write_log_line);
  const char* const wanted = std::getenv("MSPROBE_LOG_LEVEL");
  const auto level = parse_int(wanted == nullptr ? "1" : wanted).value_or(1);
  log::set_level(level <= 0   ? log::Level::debug
                 : level == 1 ? log::Level::info
                 : level == 2 ? log::Level::warn
                              : log::Level::error);
  if (level >= 4) log::set_writer([](log::Level, std::string_view) {});
}

// ----- from words to a job

Result<int64_t> number(const Parsed& parsed, std::string_view flag) {
  const auto text = parsed.value(flag);
  if (!text) return 0;
  const auto value = parse_int(*text);
  if (!value || *value < 0)
    return fail(ErrorKind::bad_argument, "{}: '{}' is not a number", flag, printable(*text));
  return *value;
}

MappingFlag mapping(const Parsed& parsed, std::string_view flag) {
  return {parsed.has(flag), parsed.value(flag)};
}

Result<MsprobeJob> common_job(const Parsed& parsed, Generation generation) {
  MsprobeJob job;
  job.generation = generation;
  if (const auto profile = parsed.value("--profile"))
    job.generation = *profile == "g1" ? Generation::g1 : *profile == "g2" ? Generation::g2 : Generation::g3;
  job.output = parsed.value("--output_path").value_or("./output");
  job.fuzzy = parsed.has("--fuzzy_match");
  job.cell = mapping(parsed, "--cell_mapping");
  job.api = mapping(parsed, "--api_mapping");
  job.layer = mapping(parsed, "--layer_mapping");
  job.data = parsed.value("--data_mapping");
  job.first_difference = parsed.has("--diff_analyze");
  if (const auto reports = parsed.value("--report")) job.reports = split_list({*reports});
  ASSAY_TRY(const int64_t threads, number(parsed, "--threads"));
  job.threads = static_cast<int>(std::min<int64_t>(threads, 4096));
  if (const auto memory = parsed.value("--memory")) {
    ASSAY_TRY(job.memory, parse_memory(*memory));
  }
  job.trusted = parsed.has("--trusted");
  return job;
}

Result<std::vector<int>> numbers(const JsonTape& tape, size_t place) {
  std::vector<int> out;
  if (tape.kind(place) != JsonKind::array)
    return fail(ErrorKind::bad_argument, "'rank_id' and 'step_id' should both be lists, please check!");
  for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at)) {
    if (tape.kind(at) != JsonKind::integer)
      return fail(ErrorKind::bad_argument, "'rank_id' and 'step_id' hold numbers, please check!");
    out.push_back(static_cast<int>(std::clamp<int64_t>(tape.integer(at), -1, INT32_MAX)));
  }
  return out;
}

Result<std::string> wanted_path(const JsonTape& tape, std::string_view key, const fs::path& file,
                                Generation generation) {
  const size_t place = tape.find(0, key);
  if (place != 0 && tape.is_text(place) && !tape.text(place).empty()) return std::string(tape.text(place));
  if (generation == Generation::g1)
    return fail(ErrorKind::bad_argument, "Missing {} in configuration file {}, please check!", key,
                display(file));
  return fail(ErrorKind::bad_argument, "Missing {} in input configuration file, please check!", key);
}

Result<void> read_compare_json(const fs::path& path, MsprobeJob& job) {
  if (std::error_code ignored; !fs::exists(path, ignored))
    return fail(ErrorKind::not_found, "path does not exist, please check! {}", display(path));
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > (int64_t{64} << 20))
    return fail(ErrorKind::limit, "{}: {} is too large for a compare.json", file->name(),
                format_size(file->size()));
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  ASSAY_TRY(const JsonTape tape, parse_json_text(text, file->name()));
  if (tape.kind(0) != JsonKind::object)
    return fail(ErrorKind::bad_argument, "input_param should be dict, please check!");
  ASSAY_TRY(job.mine, wanted_path(tape, "npu_path", path, job.generation));
  ASSAY_TRY(job.golden, wanted_path(tape, "bench_path", path, job.generation));
  if (const size_t stack = tape.find(0, "stack_path"); stack != 0 && tape.is_text(stack))
    job.stack_path = tape.text(stack);
  if (const size_t print = tape.find(0, "is_print_compare_log");
      print != 0 && tape.kind(print) == JsonKind::boolean)
    job.row_log = tape.boolean(print);
  if (const size_t common = tape.find(0, "common");
      common != 0 && tape.kind(common) == JsonKind::boolean && tape.boolean(common))
    return fail(ErrorKind::bad_argument,
                "\"common\": true (files of a single save) is not supported; compare the two folders with "
                "'assay compare'; where the numbers at the end of their names differ, with --rename "
                "'_\\d+\\.npy$=' --rename-golden '_\\d+\\.npy$='");
  const size_t ranks = tape.find(0, "rank_id"), steps = tape.find(0, "step_id");
  job.kernels = ranks != 0 && tape.kind(ranks) != JsonKind::null;
  if (!job.kernels) return {};
  ASSAY_TRY(job.ranks, numbers(tape, ranks));
  if (steps != 0) {
    ASSAY_TRY(job.steps, numbers(tape, steps));
  }
  return {};
}

int report_error(const Error& error) {
  log::error("{}", error.message);
  return exit_code(error, 1);
}

int stop(const ParseStop& why) {
  static_cast<void>(
      console::write_text(why.code == 0 ? console::Stream::out : console::Stream::err, why.text));
  return why.code;
}

int run(const Result<MsprobeJob>& job, const Context& context) {
  if (!job) return report_error(job.error());
  const auto done = run_job(*job, context);
  return done ? 0 : report_error(done.error());
}

// ----- msprobe -f FRAMEWORK compare …

std::string old_help() {
  const std::string commands = fmt::format("{{{}}}", fmt::join(kSubcommands, ","));
  return fmt::format(
      "usage: msprobe [-h] -f {{pytorch,mindspore}}\n               {0}\n               ...\n\n"
      "The command line of msprobe, served by assay; 'compare' and 'parse' are there.\n\n"
      "positional arguments:\n  {0}\n\noptions:\n"
      "  -h, --help            show this help message and exit\n"
      "  -f {{pytorch,mindspore}}, --framework {{pytorch,mindspore}}\n"
      "                        Deep learning framework.\n"
      "  msprobe compare -tp TARGET -gp GOLDEN is the form of msprobe 26.\n",
      commands);
}

Result<MsprobeJob> old_job(const Parsed& parsed, bool is_pytorch) {
  ASSAY_TRY(MsprobeJob job, common_job(parsed, Generation::g2));
  job.is_pytorch = is_pytorch;
  job.stack_flag = parsed.has("--stack_mode");
  job.advisor = !parsed.has("--compare_only");
  job.highlight = parsed.has("--highlight") || job.generation == Generation::g1;
  ASSAY_TRY_DO(read_compare_json(parsed.value("--input_path").value_or(""), job));
  return job;
}

int run_old(std::span<const std::string> arguments, const Context& context) {
  const auto usage = [](std::string_view text) {
    console::print(console::Stream::err,
                   "usage: msprobe [-h] -f {{pytorch,mindspore}} {{compare}} ...\nmsprobe: error: {}\n",
                   text);
    return 2;
  };
  const std::string& framework = arguments[1];
  if (framework != "pytorch" && framework != "mindspore")
    return usage(
        fmt::format("argument -f/--framework: invalid choice: '{}' (choose from 'pytorch', 'mindspore')",
                    printable(framework)));
  const std::string& command = arguments[2];
  if (command != "compare") {
    if (std::find(kSubcommands.begin(), kSubcommands.end(), command) == kSubcommands.end())
      return usage(fmt::format("invalid choice: '{}'", printable(command)));
    log::error("{} is not served by assay; 'compare' is", command);
    return 1;
  }
  const auto parsed = parse_foreign(kOldCommand, arguments.subspan(3));
  if (!parsed) return stop(parsed.error());
  return run(old_job(*parsed, framework == "pytorch"), context);
}

// ----- msprobe compare -tp … -gp …

Result<std::vector<int>> number_list(const std::string& text, std::string_view flag) {
  std::vector<int> out;
  for (const std::string& part : split_list({text})) {
    const auto value = parse_int(part);
    if (!value || *value < 0 || *value > INT32_MAX)
      return fail(ErrorKind::bad_argument, "{}: '{}' is not a list of numbers", flag, printable(text));
    out.push_back(static_cast<int>(*value));
  }
  return out;
}

// What is not served, why, and what to do instead.
Result<void> check_served(std::string_view mode) {
  if (mode == "offline_data")
    return fail(
        ErrorKind::bad_argument,
        "mode 'offline_data' joins operators by the rules of a fusion file and is not served by "
        "assay; 'assay compare TARGET GOLDEN' compares two dumps of the graph engine by name, and with "
        R"(--rename-golden '^(.*)\.(\d+)\.\d+\.npy$=\1.output.\2' one against golden files OP.N.TIME.npy)");
  if (mode == "offline_model")
    return fail(ErrorKind::bad_argument,
                "mode 'offline_model' runs the models on a device, which assay does not; dump both runs, and "
                "compare the folders with 'assay compare TARGET GOLDEN'");
  return {};
}

Result<MsprobeJob> new_job(const Parsed& parsed) {
  ASSAY_TRY(MsprobeJob job, common_job(parsed, Generation::g3));
  job.mine = parsed.value("--target_path").value_or("");
  job.golden = parsed.value("--golden_path").value_or("");
  if (is_torchair_dump(job.mine))
    return fail(ErrorKind::bad_argument, "{}: is a dump of TorchAir; pass -m torchair", display(job.mine));
  job.config = parsed.value("--config");
  job.csv = !parsed.has("--xlsx");
  if (parsed.has("--consistent_check")) {
    const std::string backend = parsed.value("--backend").value_or("");
    if (backend.empty())
      return fail(ErrorKind::bad_argument, "--consistent_check needs --backend fsdp or --backend megatron");
    if (job.fuzzy || job.first_difference || job.data || job.api.on || job.cell.on || job.layer.on)
      return fail(ErrorKind::bad_argument,
                  "--consistent_check pairs modules by itself; it goes without -fm, -da and mapping files");
    job.consistent = backend == "fsdp" ? TrainingBackend::fsdp : TrainingBackend::megatron;
  }
  job.advisor = false;
  job.row_log = parsed.has("--is_print_compare_log");
  job.kernels = parsed.has("--rank");
  if (const auto ranks = parsed.value("--rank")) {
    ASSAY_TRY(job.ranks, number_list(*ranks, "--rank"));
  }
  if (const auto steps = parsed.value("--step")) {
    ASSAY_TRY(job.steps, number_list(*steps, "--step"));
  }
  return job;
}

// Every word that begins with a dash must be a flag of the mode, also one that is meant as a value.
bool is_of_mode(const ForeignFlag& flag, std::string_view mode) {
  const auto is_among = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, flag.names[0]) != names.end();
  };
  constexpr std::array<std::string_view, 4> kOfAll = {"-m", "-tp", "-gp", "-o"};
  constexpr std::array<std::string_view, 3> kOfData = {"-fr", "-qfr", "-cfr"};
  constexpr std::array<std::string_view, 5> kOfModel = {"--input_data", "--input_shape", "--output_size",
                                                        "--dym_shape_range", "-ofs"};
  if (is_among(kOfAll)) return true;
  if (is_among(kOfData)) return mode == "offline_data";
  if (is_among(kOfModel)) return mode == "offline_model";
  return mode == "auto" || (mode == "offline_model" && flag.names[0] == "--rank");
}

Result<void> check_new_words(std::span<const std::string> arguments, std::string_view mode) {
  for (const std::string& word : arguments) {
    if (!word.starts_with("-") || word == "-h" || word == "--help") continue;
    bool known = false;
    for (const ForeignFlag& flag : kNewCommand.flags)
      known |= is_of_mode(flag, mode) &&
               std::ranges::find(flag.names, word.substr(0, word.find('='))) != flag.names.end();
    if (!known)
      return fail(ErrorKind::bad_argument, "Invalid argument '{}' for mode '{}'", printable(word), mode);
  }
  return {};
}

int run_new(std::span<const std::string> arguments, const Context& context) {
  const auto parsed = parse_foreign(kNewCommand, arguments);
  if (!parsed) return stop(parsed.error());
  const std::string mode = parsed->value("--mode").value_or("auto");
  if (const auto words = check_new_words(arguments, mode); !words) return report_error(words.error());
  if (const auto served = check_served(mode); !served) return report_error(served.error());
  if (mode != "auto") {
    const fs::path mine = parsed->value("--target_path").value_or(""),
                   golden = parsed->value("--golden_path").value_or(""),
                   output = parsed->value("--output_path").value_or("./output");
    TorchairJob job{mine, golden, output};
    job.is_msprobe = true;
    const auto done =
        mode == "atb" ? run_msprobe_atb({mine, golden, output}, context) : compare_torchair(job, context);
    return done ? 0 : report_error(done.error());
  }
  return run(new_job(*parsed), context);
}

}  // namespace

int run_msprobe(std::span<const std::string> given, const Context& context) {
  open_log();
  // -fpytorch and --framework=pytorch are -f pytorch.
  std::vector<std::string> arguments(given.begin(), given.end());
  if (!arguments.empty()) {
    std::string& first = arguments[0];
    const size_t flag = first.starts_with("--framework=")             ? 12
                        : first.starts_with("-f") && first.size() > 2 ? 2
                                                                      : 0;
    if (flag != 0) {
      arguments.insert(arguments.begin() + 1, first.substr(flag));
      arguments[0] = "-f";
    }
  }
  if (!arguments.empty() && arguments[0] == "compare")
    return run_new(std::span(arguments).subspan(1), context);
  if (!arguments.empty() && arguments[0] == "parse") {
    const auto parsed = parse_foreign(msprobe_parse_command(), std::span(arguments).subspan(1));
    if (!parsed) return stop(parsed.error());
    const auto done = run_msprobe_parse(*parsed);
    return done ? 0 : report_error(done.error());
  }
  if (!arguments.empty() && !arguments[0].starts_with("-")) {
    if (std::ranges::find(kNewSubcommands, arguments[0]) != kNewSubcommands.end()) {
      log::error("{} is not served by assay; 'compare' and 'parse' are", arguments[0]);
      return 1;
    }
    console::print(console::Stream::err,
                   "usage: msprobe [-h] {{compare,parse}} ...\nmsprobe: error: "
                   "invalid choice: '{}'\n",
                   printable(arguments[0]));
    return 2;
  }
  if (arguments.size() < 3 || (arguments[0] != "-f" && arguments[0] != "--framework")) {
    static_cast<void>(console::write_text(console::Stream::out, old_help()));
    return 0;
  }
  return run_old(arguments, context);
}

}  // namespace assay::cli
