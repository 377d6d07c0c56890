#include "assay/run/launch/dump_settings.h"

#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "assay/run/launch/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace assay {
namespace {

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t') out += c;
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits between which there is one of these characters.
bool is_list(std::string_view text, std::string_view separators) {
  bool after_digit = false;
  for (const char c : text) {
    if (!is_digit(c) && (!after_digit || separators.find(c) == std::string_view::npos)) return false;
    after_digit = is_digit(c);
  }
  return after_digit;
}

std::string one_or_zero(bool value) { return value ? "1" : "0"; }

std::string number_of_level(std::string_view level) {
  constexpr std::array<std::pair<std::string_view, int>, 7> kLevels = {
      {{"debug", 0}, {"info", 1}, {"warning", 2}, {"warn", 2}, {"error", 3}, {"fatal", 4}, {"critical", 5}}};
  const auto found = std::ranges::find(kLevels, level, &std::pair<std::string_view, int>::first);
  return fmt::format("{}", found == kLevels.end() ? 1 : found->second);
}

EnvironmentChange preload(const fs::path& probe) {
  const char* const before = std::getenv("LD_PRELOAD");
  const bool has_others = before != nullptr && *before != '\0';
  return {"LD_PRELOAD", has_others ? fmt::format("{}:{}", probe.native(), before) : probe.native()};
}

// What makes libraries compute the same way twice.
void add_seed(int64_t seed, std::vector<EnvironmentChange>& out) {
  out.push_back({"LCCL_DETERMINISTIC", "1"});
  out.push_back({"HCCL_DETERMINISTIC", "true"});
  out.push_back({"ATB_MATMUL_SHUFFLE_K_ENABLE", "0"});
  out.push_back({"ATB_LLM_LCOC_ENABLE", "0"});
  out.push_back({"PYTHONHASHSEED", fmt::format("{}", seed)});
}

// What is wrong with rounds that are digits and commas; nothing: each pair means some.
std::optional<std::string> rounds_in_vain(std::string_view range) {
  if (range == "all" || range == "none") return std::nullopt;
  const auto items = split(range, ',');
  for (size_t i = 0; i < items.size(); i += 2) {
    if (i + 1 == items.size())
      return fmt::format(
          "rounds {}: they come in pairs of the first and the last, and {} has no partner; write {},{}",
          range, items[i], items[i], items[i]);
    std::array<int64_t, 2> pair = {};
    for (size_t side = 0; side < 2; ++side) {
      const auto number = parse_int(items[i + side]);
      if (!number || *number > INT32_MAX)
        return fmt::format("rounds {}: {} is too large; the largest is {}, and `all` means every round",
                           range, items[i + side], INT32_MAX);
      pair[side] = *number;
    }
    if (pair[0] > pair[1])
      return fmt::format("rounds {}: from {} to {} there is none; write {},{}", range, pair[0], pair[1],
                         pair[1], pair[0]);
  }
  return std::nullopt;
}

// What the name of the folder begins with, where the time follows; empty: it has another name.
std::string_view stamped_name() {
  const char* const generation = std::getenv("ASSAY_ATB_GENERATION");
  const std::string_view asked = generation == nullptr ? "" : generation;
  if (asked == "1a" || asked == "1b" || asked == "3") return "";
  return asked == "1c" ? "ait_dump_" : "msit_dump_";
}

}  // namespace

std::string stamp_of(Moment now) {
  std::string stamp = local_stamp(now);
  return stamp.insert(8, "_");
}

Result<DumpRun> begin_run(const DumpSettings& settings, Moment now) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME_COARSE,
                  &time);  // the clock that files are dated by, whatever ASSAY_NOW says
  DumpRun run{now, Moment{static_cast<int64_t>(time.tv_sec)}, static_cast<int64_t>(::getpid())};
  run.id = fmt::format("{}.{}.{:09}", run.process, time.tv_sec, time.tv_nsec);
  const std::string_view name = stamped_name();
  if (name.empty()) return run;
  const fs::path root = fs::absolute(settings.output).lexically_normal();
  constexpr int kMostSeconds = 3600;
  if (const int64_t ranks = ranks_here(); ranks > 1) {
    run.ranks = join_ranks(root, ranks, [&] {
      Moment free = now;  // what is there was recorded by others
      const Moment last{now.seconds + kMostSeconds};
      while (free.seconds < last.seconds && fs::exists(root / fmt::format("{}{}", name, stamp_of(free))))
        ++free.seconds;
      return free;
    });
    run.named_by = run.ranks.time;
    return run;
  }
  for (int i = 0; i < kMostSeconds; ++i, ++run.named_by.seconds) {
    run.folder = root / fmt::format("{}{}", name, stamp_of(run.named_by));
    if (::mkdir(run.folder.c_str(), 0750) == 0) return run;
    if (errno != EEXIST) break;
  }
  return fail(ErrorKind::io, "{}: cannot be made: {}", display(run.folder), system_message(errno));
}

std::vector<std::string> settings_in_vain(const DumpSettings& settings) {
  std::vector<std::string> out;
  if (const auto rounds = rounds_in_vain(settings.range)) out.push_back(*rounds);
  if (settings.has("stats") && !settings.has("tensor"))
    out.push_back("of the types, stats is for tensors, and tensor is not among them: nothing is measured");
  if (!settings.children && settings.ids.empty() && settings.config.empty())
    out.push_back(
        "leaving out what is inside of operations (--no-children, -child False) is for those that --ids "
        "(-ids) names: without it everything is recorded");
  return out;
}

bool DumpSettings::has(std::string_view type) const { return std::ranges::find(types, type) != types.end(); }

Result<std::string> read_ids(std::string_view text) {
  std::string ids = without_blanks(text);
  if (ids.empty() || is_list(ids, "_,")) return ids;
  return fail(
      ErrorKind::bad_argument,
      "dym range string \"{}\" is not a legal string: numbers joined by '_', these by ',', e.g. 2,3_1",
      printable(text));
}

Result<std::string> read_range(std::string_view text) {
  std::string range = without_blanks(text);
  constexpr size_t kMost = 500;
  if (range.size() <= kMost && (range == "all" || range == "none" || is_list(range, ","))) return range;
  return fail(ErrorKind::bad_argument,
              "\"{}\" is no range of rounds: pairs of the first and the last, e.g. 0,0 or 3,5,7,7",
              printable(text.substr(0, 60)));
}

fs::path list_of_topologies(const DumpSettings& settings, int64_t process) {
  return fs::absolute(settings.output).lexically_normal() / fmt::format("{}", process);
}

std::vector<EnvironmentChange> environment_of(const DumpSettings& settings, const fs::path& probe,
                                              const DumpRun& run) {
  const auto unless_empty = [](const std::string& text) {
    return text.empty() ? std::optional<std::string>() : text;
  };
  std::vector<std::string> types = settings.types;
  if (settings.has("onnx")) types.insert(types.end(), {"model", "op"});
  std::string output = fs::absolute(settings.output).lexically_normal();
  if (!output.ends_with('/')) output += '/';
  std::vector<EnvironmentChange> out;
  if (!settings.config.empty()) out.push_back({"ATB_DUMP_CONFIG", settings.config.native()});
  const bool in_before_out_after = settings.time == 3;
  out.push_back({"ATB_SAVE_TENSOR", settings.only_descriptions ? "2" : "1"});
  out.push_back({"ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER", one_or_zero(in_before_out_after)});
  out.push_back({"ATB_SAVE_TENSOR_TIME", in_before_out_after ? "1" : fmt::format("{}", settings.time)});
  out.push_back({"ATB_SAVE_TENSOR_IDS", unless_empty(settings.ids)});
  out.push_back({"ATB_SAVE_TENSOR_RUNNER", unless_empty(to_lower(settings.names))});
  out.push_back({"ATB_TIMESTAMP", stamp_of(run.named_by)});
  out.push_back({"ATB_OUTPUT_DIR", output});
  out.push_back({"ATB_DUMP_TYPE", fmt::format("{}", fmt::join(types, "|"))});
  out.push_back({"ATB_SAVE_TENSOR_STATISTICS", settings.has("stats") && settings.has("tensor")
                                                   ? std::optional<std::string>("1")
                                                   : std::nullopt});
  out.push_back({"ATB_DUMP_SUB_PROC_INFO_SAVE_PATH",
                 settings.has("onnx")
                     ? std::optional<std::string>(list_of_topologies(settings, run.process).native())
                     : std::nullopt});
  out.push_back({"ATB_SAVE_CHILD", one_or_zero(settings.children)});
  out.push_back({"ATB_SAVE_TILING", one_or_zero(settings.tiling)});
  out.push_back({"ATB_SAVE_CPU_PROFILING", one_or_zero(settings.has("cpu_profiling"))});
  out.push_back({"ATB_SAVE_SYMLINK", one_or_zero(settings.links)});
  out.push_back({"ATB_SAVE_TENSOR_RANGE", settings.range});
  out.push_back({"ATB_SAVE_TENSOR_PART", fmt::format("{}", settings.part)});
  out.push_back({"ATB_CUR_PID", fmt::format("{}", run.process)});
  out.push_back({"ATB_DEVICE_ID", settings.device ? std::optional(fmt::format("{}", *settings.device))
                                                  : std::optional<std::string>()});
  out.push_back({"ATB_AIT_LOG_LEVEL", number_of_level(settings.log_level)});
  out.push_back({"ASSAY_CAPTURE_RUN", run.id});
  if (settings.seed) add_seed(*settings.seed, out);
  out.push_back(preload(probe));
  return out;
}

std::vector<EnvironmentChange> environment_of_check(const fs::path& output, bool stops,
                                                    std::string_view log_level, const fs::path& probe,
                                                    const fs::path& asked) {
  return {{"ATB_CHECK_TYPE", "1"},
          {"ATB_OUTPUT_DIR", fs::absolute(output).lexically_normal().native()},
          {"ATB_EXIT", one_or_zero(stops)},
          {"ATB_AIT_LOG_LEVEL", number_of_level(log_level)},
          {"ASSAY_CHECK_ASKED", asked.native()},
          preload(probe)};
}

Result<void> check_output(const fs::path& output) {
  ASSAY_TRY_DO(make_folder(output));
  std::string attempt = (output / ".assay_XXXXXX").native();
  if (::mkdtemp(attempt.data()) == nullptr)
    return fail(ErrorKind::io, "{}: nothing can be written there: {}; choose another --output",
                display(output), system_message(errno));
  ::rmdir(attempt.c_str());
  return {};
}

Result<void> check_room(const fs::path& output) {
  constexpr uintmax_t kLeast = uintmax_t{2} << 30;
  std::error_code error;
  const fs::space_info space = fs::space(output, error);
  if (error || space.available > kLeast) return {};
  return fail(
      ErrorKind::io,
      "{}: {} are free; please make sure that the remaining disk space in the dump path is greater than 2 GB",
      display(output), format_size(static_cast<int64_t>(space.available)));
}

}  // namespace assay
