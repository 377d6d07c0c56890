#include "assay/run/launch/after_dump.h"

#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/run/resources.h"
#include "assay/run/topology.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

constexpr int64_t kLargestText = int64_t{256} << 20;

Result<std::string> read_whole(const fs::path& path) {
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > kLargestText)
    return fail(ErrorKind::bad_format, "{}: {} are too many for a list", display(path),
                format_size(file->size()));
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

bool is_new(const fs::path& path, Moment started) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec >= started.seconds;
}

std::vector<fs::path> folders_of(const DumpSettings& settings, Moment named_by, Moment started) {
  const fs::path root = fs::absolute(settings.output).lexically_normal();
  std::string stamp = local_stamp(named_by);
  stamp.insert(8, "_");
  std::vector<fs::path> out;
  for (const std::string& name : {"msit_dump_" + stamp, "ait_dump_" + stamp, std::string("atb_dump_data"),
                                  std::string("msit_dump"), std::string("ait_dump")})
    if (const fs::path folder = root / name;
        is_folder(folder) && (is_new(folder, started) || is_new(folder / "capture.json", started)))
      out.push_back(folder);
  return out;
}

// An object with a member for each process.
bool add_capture_file(const fs::path& path, CaptureCounts& counts) {
  const auto text = read_whole(path);
  if (!text) return false;
  const auto tape = parse_json_text(*text, display(path));
  if (!tape || tape->kind(0) != JsonKind::object) return false;
  counts.filtered = counts.dropped = counts.lost = 0;
  for (size_t at = tape->first(0); !tape->is_end(at);) {
    const size_t value = at + 1;
    const auto number = [&](std::string_view key) {
      const size_t place = tape->kind(value) == JsonKind::object ? tape->find(value, key) : 0;
      return place != 0 && tape->kind(place) == JsonKind::integer ? tape->integer(place) : 0;
    };
    counts.tensors += number("tensors") + number("statistics");
    counts.bytes += number("bytes");
    counts.filtered += number("filtered");
    counts.dropped += number("dropped");
    counts.lost += number("lost");
    counts.lost_bytes += number("lost_bytes");
    const size_t loss = tape->kind(value) == JsonKind::object ? tape->find(value, "first_loss") : 0;
    if (counts.first_loss.empty() && loss != 0 && tape->is_text(loss)) counts.first_loss = tape->text(loss);
    at = tape->next(value);
  }
  return true;
}

void count_files(const fs::path& folder, CaptureCounts& counts) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".bin" || !at->is_regular_file(error)) continue;
    ++counts.tensors;
    counts.bytes += static_cast<int64_t>(at->file_size(error));
  }
}

CaptureCounts count(const std::vector<fs::path>& folders) {
  CaptureCounts counts;
  for (const fs::path& folder : folders)
    if (!add_capture_file(folder / "capture.json", counts)) count_files(folder, counts);
  return counts;
}

void draw_topologies(const fs::path& list_folder, DumpOutcome& outcome) {
  const auto list = read_whole(list_folder / "subprocess_info.txt");
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

}  // namespace

Result<fs::path> tabulate_cpu_times(const fs::path& lines) {
  ASSAY_TRY(const std::string text, read_whole(lines));
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

DumpOutcome finish_dump(const DumpSettings& settings, Moment named_by, Moment started, int64_t process) {
  DumpOutcome outcome;
  outcome.folders = folders_of(settings, named_by, started);
  if (settings.has("onnx")) draw_topologies(list_of_topologies(settings, process), outcome);
  if (settings.has("cpu_profiling"))
    for (const fs::path& folder : outcome.folders) tabulate_all(folder, outcome);
  outcome.counts = count(outcome.folders);
  return outcome;
}

std::string text_of(const DumpOutcome& outcome) {
  if (outcome.folders.empty())
    return "nothing was recorded: the program did not call ATB, or nothing fits --ids, --op and --tokens; "
           "`assay doctor` shows which ATB is meant\n";
  const CaptureCounts& counts = outcome.counts;
  std::string out = fmt::format("{} tensor{} ({})", counts.tensors, counts.tensors == 1 ? "" : "s",
                                format_size(counts.bytes));
  if (counts.filtered > 0) out += fmt::format(", {} filtered out", counts.filtered);
  if (counts.dropped > 0)
    out += fmt::format(", of {} only statistics: the disk was too slow", counts.dropped);
  out += '\n';
  if (counts.lost > 0)
    out += fmt::format("LOST: {} file{} ({}){}\n", counts.lost, counts.lost == 1 ? "" : "s",
                       format_size(counts.lost_bytes),
                       counts.first_loss.empty() ? "" : "; the first: " + printable(counts.first_loss));
  if (outcome.drawn > 0) out += fmt::format("{} ONNX file{}\n", outcome.drawn, outcome.drawn == 1 ? "" : "s");
  if (outcome.tables > 0)
    out += fmt::format("{} table{} of CPU times\n", outcome.tables, outcome.tables == 1 ? "" : "s");
  for (const fs::path& folder : outcome.folders) out += fmt::format("in {}\n", display(folder));
  out += fmt::format("next: assay errcheck {}\n", display(outcome.folders.front()));
  return out;
}

}  // namespace assay
