#include "assay/dump/capture_losses.h"

#include "assay/base/files_and_lines.h"
#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

namespace assay {
namespace {

// The processes of interest, by the file that counts what they recorded: it lies in the dump, whose ranks lie
// in a folder of it (tensors, data), or of the first generation in the dump itself.
std::map<fs::path, std::set<std::string, std::less<>>> counts_of(std::span<const fs::path> ranks) {
  std::map<fs::path, std::set<std::string, std::less<>>> out;
  for (const fs::path& rank : ranks) {
    const std::string name = fs::absolute(rank / ".").lexically_normal().parent_path().filename().native();
    for (const char* const above : {"..", "../.."})
      if (const fs::path file = (rank / above / "capture.json").lexically_normal(); is_file(file)) {
        out[file].insert(name.substr(name.rfind('_') + 1));
        break;
      }
  }
  return out;
}

void note_record(const fs::path& file, std::string_view process, const JsonTape& record, Remarks& warnings) {
  const auto number = [&](std::string_view key) {
    const size_t place = record.find(0, key);
    return place != 0 && record.kind(place) == JsonKind::integer ? record.integer(place) : 0;
  };
  if (const int64_t lost = number("lost"); lost > 0) {
    const size_t reason = record.find(0, "first_loss");
    warnings.push_back(
        left_out(fmt::format("{}: {} of process {} {} lost while the dump was recorded{}", display(file),
                             files_and_lines(lost, number("lost_lines")), process, lost == 1 ? "was" : "were",
                             reason != 0 && record.is_text(reason)
                                 ? fmt::format("; the first: {}", printable(record.text(reason)))
                                 : ""),
                 lost));
  }
  const size_t ended = record.find(0, "ended");
  const bool was_cut_off = ended != 0 && record.kind(ended) == JsonKind::boolean && !record.boolean(ended);
  if (const int64_t waiting = number("waiting"); waiting > 0 && was_cut_off)
    warnings.push_back(left_out(
        fmt::format("{}: process {} did not live to its end, or still runs; about {} tensor{} that waited in "
                    "it {} not there",
                    display(file), process, waiting, waiting == 1 ? "" : "s", waiting == 1 ? "is" : "are"),
        waiting));
}

}  // namespace

void note_losses(std::span<const fs::path> ranks, int64_t memory, Remarks& warnings) {
  for (const auto& [path, processes] : counts_of(ranks)) {
    const auto file = File::open(path);
    if (!file) continue;
    // "4711", and "4711.2" of its second writer. What is no such file says nothing.
    static_cast<void>(read_json_members(**file, {}, memory, [&](const JsonMember& member) -> Result<bool> {
      const std::string_view process = member.key.substr(0, member.key.find('.'));
      if (member.value.kind(0) == JsonKind::object && processes.contains(process))
        note_record(path, process, member.value, warnings);
      return true;
    }));
  }
}

}  // namespace assay
