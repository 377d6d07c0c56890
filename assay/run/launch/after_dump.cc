#include "assay/run/launch/after_dump.h"

#include "assay/base/files_and_lines.h"
#include "assay/base/path_kind.h"
#include "assay/base/shell_word.h"
#include "assay/base/text.h"
#include "assay/run/launch/read_text.h"
#include "assay/run/resources.h"
#include "assay/run/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

// Where this run may have left something: the names of all generations. The first wrote into the output
// itself.
std::vector<fs::path> places_of(const DumpSettings& settings, const DumpRun& run) {
  const fs::path root = fs::absolute(settings.output / ".").lexically_normal().parent_path();
  const std::string stamp = stamp_of(run.named_by);
  std::vector<fs::path> out;
  for (const std::string& name : {"msit_dump_" + stamp, "ait_dump_" + stamp, std::string("atb_dump_data"),
                                  std::string("msit_dump"), std::string("ait_dump")})
    out.push_back(root / name);
  out.push_back(root);
  return out;
}

void draw_topologies(const fs::path& list_folder, DumpOutcome& outcome) {
  const auto list = read_text(list_folder / "subprocess_info.txt");
  std::error_code ignored;
  std::set<std::string> drawn;
  if (list)
    for (const std::string_view line : split(*list, '\n')) {
      const std::string path(trim(line));
      if (path.empty() || !is_file(path) || !drawn.insert(path).second) continue;
      TopologyRequest request;
      request.json = path;
      request.force = true;  // a layer is reported again with every model
      request.memory = memory_budget(0);
      const auto picture = draw_topology(request);
      if (picture)
        ++outcome.drawn;
      else
        outcome.warnings.push_back(picture.error().message);
    }
  fs::remove(list_folder / "subprocess_info.txt", ignored);
  fs::remove(list_folder, ignored);  // only where nothing else is in it
}

void tabulate_all(const fs::path& folder, DumpOutcome& outcome) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator at(folder / "cpu_profiling", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.starts_with("operation_statistic_") && name.ends_with(".txt")) found.push_back(at->path());
  }
  std::ranges::sort(found);
  for (const fs::path& lines : found) {
    const auto table = tabulate_cpu_times(lines);
    if (table)
      ++outcome.tables;
    else
      outcome.warnings.push_back(table.error().message);
  }
}

bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// As it was typed. Where a configuration is read, it says which operations and rounds.
std::string choice_of(const DumpSettings& settings) {
  if (!settings.has("tensor")) return {};
  std::vector<std::string> words;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{} {}", flag, shell_word(value)));
  };
  const bool has_config = !settings.config.empty();
  add("--config", display(settings.config));
  add("--ids", has_config ? "" : settings.ids);
  add("--op", settings.names);
  const bool is_usual = settings.range == DumpSettings().range;
  if (!has_config && (!is_usual || words.empty())) add("--tokens", settings.range);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

Result<fs::path> tabulate_cpu_times(const fs::path& lines) {
  ASSAY_TRY(const std::string text, read_text(lines));
  std::vector<std::string> names;  // in the order of the file
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::set<std::string> columns;
  std::map<std::pair<std::string, bool>, std::string>
      last;  // by name and whether it was executed: the last counts
  for (const std::string_view line : split(text, '\n')) {
    const size_t end = line.find("]:");
    if (!line.starts_with('[') || end == std::string_view::npos) continue;
    std::string name(line.substr(1, end - 1));
    if (!is_name(name)) continue;
    const std::string_view pairs = line.substr(end + 2);
    const bool is_execute = pairs.find("kernelExecuteTime:") != std::string_view::npos;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (is_execute || pairs.find("runnerSetupTime:") != std::string_view::npos)
      last[{std::move(name), is_execute}] = pairs;
  }
  for (const auto& [of, pairs] : last)
    for (std::string_view pair : split(pairs, ',')) {
      pair = trim(pair);
      const size_t colon = pair.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string column =
          fmt::format("{}{}", of.second ? "execute_" : "setup_", pair.substr(0, colon));
      columns.insert(column);
      rows[of.first][column] = pair.substr(colon + 1);
    }
  std::string table = "opname";
  for (const std::string& column : columns) table += "," + column;
  table += '\n';
  for (const std::string& name : names) {
    table += name;
    for (const std::string& column : columns) table += "," + rows[name][column];
    table += '\n';
  }
  fs::path out = lines;
  out.replace_extension(".csv");
  ASSAY_TRY(FileWriter file, FileWriter::create(out, IfExists::replace, 0640));
  ASSAY_TRY_DO(file.append(table));
  ASSAY_TRY(fs::path written, file.publish());
  std::error_code ignored;
  fs::remove(lines, ignored);
  return written;
}

DumpOutcome finish_dump(const DumpSettings& settings, const DumpRun& run) {
  DumpOutcome outcome;
  outcome.only_descriptions = settings.only_descriptions;
  outcome.choice = choice_of(settings);
  std::error_code ignored;
  if (!run.folder.empty()) fs::remove(run.folder, ignored);  // only where nothing is in it
  if (settings.has("onnx")) draw_topologies(list_of_topologies(settings, run.process), outcome);
  for (const fs::path& folder : places_of(settings, run)) {
    if (!is_folder(folder) || !add_counts(folder, run, outcome.counts)) continue;
    if (settings.has("cpu_profiling")) tabulate_all(folder, outcome);
    outcome.folders.push_back(folder);
  }
  return outcome;
}

namespace {

// Nothing was handed over, and nothing that came to the probe was lost on the way.
bool is_nothing_fitting(const DumpOutcome& outcome) {
  const CaptureCounts& counts = outcome.counts;
  return !outcome.choice.empty() && counts.is_counted && counts.tensors == 0 && counts.filtered == 0 &&
         counts.lost == 0 && counts.cut_off.empty() && counts.running.empty();
}

std::string tensors_text(const DumpOutcome& outcome) {
  const CaptureCounts& counts = outcome.counts;
  const bool is_by_choice = counts.dropped == 0 && counts.statistics > 0;
  std::string out =
      counts.tensors > 0
          ? fmt::format("{} tensor{} ({})", counts.tensors, counts.tensors == 1 ? "" : "s",
                        is_by_choice && counts.statistics >= counts.tensors ? "statistics alone"
                                                                            : format_size(counts.bytes))
      : counts.lines > 0
          ? fmt::format("no tensors, {} line{} of tables", counts.lines, counts.lines == 1 ? "" : "s")
          : "no tensors";
  if (is_nothing_fitting(outcome)) out += ": nothing fits " + outcome.choice;
  if (is_by_choice && counts.statistics < counts.tensors)
    out += fmt::format(", of {} only statistics", counts.statistics);
  if (counts.dropped > 0)
    out += fmt::format(", of {} only statistics: the disk was too slow", counts.dropped);
  if (counts.filtered > 0)
    out += fmt::format("; {} other{} handed over, and left out by the choice of moment, part and device",
                       counts.filtered, counts.filtered == 1 ? " was" : "s were");
  return out + "\n";
}

std::string processes_text(const CaptureCounts& counts) {
  std::string out;
  for (const auto& [process, waiting] : counts.cut_off) {
    out += fmt::format(
        "process {} did not live to its end: its files were counted, and what still waited in it is not "
        "there",
        process);
    out += waiting > 0 ? fmt::format(": about {} tensor{}\n", waiting, waiting == 1 ? "" : "s") : "\n";
  }
  if (counts.trimmed > 0)
    out += fmt::format("{} table{} ended with a part of a line, which was taken away\n", counts.trimmed,
                       counts.trimmed == 1 ? "" : "s");
  for (const int64_t process : counts.running)
    out += fmt::format("process {} is still running: what it records from now on is not counted\n", process);
  if (!counts.is_counted)
    out += "nobody counted what was left out or lost: there is no record of it in capture.json\n";
  return out;
}

// What can be done with what is there.
std::string next_step(const DumpOutcome& outcome) {
  const fs::path& folder = outcome.folders.front();
  if (outcome.counts.tensors > 0)
    return fmt::format("next: assay {} {}\n", outcome.only_descriptions ? "inspect --names" : "errcheck",
                       shell_word(display(folder)));
  if (const auto model = find_topology(folder))
    return fmt::format("next: assay topology {}\n", shell_word(display(*model)));
  return {};
}

}  // namespace

std::string text_of(const DumpOutcome& outcome) {
  if (outcome.folders.empty())
    return "nothing was recorded: the program did not call ATB, or nothing fits --ids, --op and --tokens; "
           "`assay doctor` shows which ATB is meant\n";
  const CaptureCounts& counts = outcome.counts;
  std::string out = tensors_text(outcome);
  if (counts.lost > 0)
    out += fmt::format("LOST: {} ({}){}\n", files_and_lines(counts.lost, counts.lost_lines),
                       format_size(counts.lost_bytes),
                       counts.first_loss.empty() ? "" : "; the first: " + printable(counts.first_loss));
  out += processes_text(counts);
  if (outcome.drawn > 0) out += fmt::format("{} ONNX file{}\n", outcome.drawn, outcome.drawn == 1 ? "" : "s");
  if (outcome.tables > 0)
    out += fmt::format("{} table{} of CPU times\n", outcome.tables, outcome.tables == 1 ? "" : "s");
  for (const fs::path& folder : outcome.folders) out += fmt::format("in {}\n", display(folder));
  return out + next_step(outcome);
}

}  // namespace assay
