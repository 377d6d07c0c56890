#include "assay/run/launch/capture_counts.h"

#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/run/launch/read_text.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

bool is_new(const fs::path& path, Moment started) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_mtim.tv_sec >= started.seconds;
}

// Tensors below a folder that are not older than the run. False: there is no file of the run at all.
bool count_files(const fs::path& folder, Moment started, CaptureCounts& counts) {
  std::error_code error;
  bool is_any = false;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error) || !is_new(at->path(), started)) continue;
    is_any = true;
    if (at->path().extension() != ".bin" || at->path().filename() == "kernel_tilingdata.bin") continue;
    ++counts.tensors;
    if (!at->is_symlink(error)) counts.bytes += static_cast<int64_t>(at->file_size(error));
  }
  return is_any;
}

// Those of one process: "{device}_{process}" in the folder of the tensors, wherever that is.
void count_files_of(const fs::path& folder, int64_t process, Moment started, CaptureCounts& counts) {
  const std::string end = fmt::format("_{}", process);
  for (const fs::path& place : {folder / "tensors", folder / "data", folder}) {
    std::error_code error;
    for (fs::directory_iterator at(place, error), last; !error && at != last; at.increment(error))
      if (at->path().filename().native().ends_with(end)) count_files(at->path(), started, counts);
  }
}

// Processes whose counts found no place.
void count_uncounted(const fs::path& folder, const std::set<int64_t>& counted, Moment started,
                     CaptureCounts& counts) {
  for (const fs::path& place : {folder / "tensors", folder / "data"}) {
    std::error_code error;
    for (fs::directory_iterator at(place, error), last; !error && at != last; at.increment(error)) {
      const std::string name = at->path().filename();
      const auto process = parse_int(name.substr(name.rfind('_') + 1));
      if (process && !counted.contains(*process) && count_files(at->path(), started, counts))
        counts.is_counted = false;
    }
  }
}

// Takes a part of a line away from the end of a table. True: there was one.
bool cut_half_line(const fs::path& table) {
  const auto text = read_text(table);
  if (!text || text->empty() || text->ends_with('\n')) return false;
  const size_t end = text->rfind('\n');
  return ::truncate(table.c_str(), end == std::string::npos ? 0 : static_cast<off_t>(end) + 1) == 0;
}

// Who is killed while he writes a line that lies across two pages of the file leaves the part on the first.
void trim_tables_of(const fs::path& folder, int64_t process, CaptureCounts& counts) {
  const std::string name = fmt::format("{}", process), end = "_" + name;
  for (const char* const place : {"operation_io_tensors", "kernel_io_tensors", "cpu_profiling", "data"}) {
    std::error_code error;
    for (fs::directory_iterator at(folder / place, error), last; !error && at != last; at.increment(error)) {
      const std::string of = at->path().filename();
      if (of != name && !of.ends_with(end)) continue;
      std::error_code inner;
      for (fs::recursive_directory_iterator file(at->path(), inner), stop; !inner && file != stop;
           file.increment(inner))
        if (file->path().extension() == ".csv" || file->path().extension() == ".txt")
          counts.trimmed += cut_half_line(file->path()) ? 1 : 0;
    }
  }
}

bool has_name_of_dump(const fs::path& folder) {
  const std::string name = folder.filename();
  return name.starts_with("msit_dump") || name.starts_with("ait_dump") || name == "atb_dump_data";
}

bool is_alive(int64_t process) { return process > 0 && ::kill(static_cast<pid_t>(process), 0) == 0; }

// One process, as an object of its numbers.
class Record {
 public:
  Record(const JsonTape& tape, size_t value) : tape_(tape), value_(value) {}
  int64_t number(std::string_view key) const {
    const size_t place = find(key);
    return place != 0 && tape_.kind(place) == JsonKind::integer ? tape_.integer(place) : 0;
  }
  std::string text(std::string_view key) const {
    const size_t place = find(key);
    return place != 0 && tape_.is_text(place) ? std::string(tape_.text(place)) : "";
  }
  bool has_ended() const {
    const size_t place = find("ended");
    return place == 0 || tape_.kind(place) != JsonKind::boolean || tape_.boolean(place);
  }

 private:
  size_t find(std::string_view key) const {
    return tape_.kind(value_) == JsonKind::object ? tape_.find(value_, key) : 0;
  }
  const JsonTape& tape_;
  size_t value_;
};

// What one writer says. has_ended: all writers of its process have, else the files tell how many tensors.
void add_record(const Record& record, bool has_ended, CaptureCounts& counts) {
  counts.statistics += record.number("statistics");
  counts.lines += record.number("lines");
  counts.filtered += record.number("filtered");
  counts.dropped += record.number("dropped");
  counts.lost += record.number("lost");
  counts.lost_lines += record.number("lost_lines");
  counts.lost_bytes += record.number("lost_bytes");
  if (counts.first_loss.empty()) counts.first_loss = record.text("first_loss");
  if (!has_ended) return;
  counts.tensors += record.number("tensors") + record.number("statistics");
  counts.bytes += record.number("bytes");
}

void add_unfinished(const fs::path& folder, int64_t process, std::span<const Record> records, Moment started,
                    CaptureCounts& counts) {
  // Statistics are in files, which are counted, or in tables, which have none beside them.
  int64_t statistics = 0, waiting = 0;
  for (const Record& record : records) {
    statistics += record.number("statistics");
    waiting += record.number("waiting");
  }
  const int64_t before = counts.tensors;
  count_files_of(folder, process, started, counts);
  counts.tensors = std::max(counts.tensors, before + statistics);
  if (is_alive(process)) return counts.running.push_back(process);
  counts.cut_off.push_back({process, waiting});
  trim_tables_of(folder, process, counts);
}

// The processes that have records of this run; nothing: the file is not there, or cannot be read.
std::optional<std::set<int64_t>> add_records(const fs::path& folder, const DumpRun& run,
                                             CaptureCounts& counts) {
  const fs::path path = folder / "capture.json";
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  const auto tape = parse_json_text(*text, display(path));
  if (!tape || tape->kind(0) != JsonKind::object) return std::nullopt;
  std::map<int64_t, std::vector<Record>> of_process;
  for (size_t at = tape->first(0); !tape->is_end(at); at = tape->next(at + 1)) {
    const Record record(*tape, at + 1);
    if (record.text("run") != run.id) continue;
    const std::string_view key = tape->text(at);  // "77", and "77.2" of its second writer
    of_process[parse_int(key.substr(0, key.find('.'))).value_or(0)].push_back(record);
  }
  std::set<int64_t> found;
  for (const auto& [process, records] : of_process) {
    found.insert(process);
    const bool has_ended = std::ranges::all_of(records, &Record::has_ended);
    for (const Record& record : records) add_record(record, has_ended, counts);
    if (!has_ended) add_unfinished(folder, process, records, run.started, counts);
  }
  return found;
}

}  // namespace

bool add_counts(const fs::path& folder, const DumpRun& run, CaptureCounts& counts) {
  const fs::path root = fs::absolute(folder).lexically_normal();
  const bool is_own = root == run.folder;
  const auto recorded = add_records(folder, run, counts);
  if (recorded && !recorded->empty()) {
    if (is_own) count_uncounted(folder, *recorded, run.started, counts);
    return true;
  }
  // The originals count nothing. A folder in which others counted is ours only if it was made for this run;
  // without a name of its own it may be anything.
  if (!is_own && (recorded || !has_name_of_dump(folder))) return false;
  if (!count_files(folder, run.started, counts)) return false;
  counts.is_counted = false;
  return true;
}

}  // namespace assay
