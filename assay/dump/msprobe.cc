#include "assay/dump/msprobe.h"

#include "assay/base/listing.h"
#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/msprobe_parts.h"
#include "assay/dump/unclaimed.h"
#include "assay/dump/walk.h"
#include "assay/format/stats_json.h"
#include "assay/model/process.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

constexpr std::string_view kData = "dump_tensor_data";

// "rank3" is 3, "rank" is -1; nothing for other names. A leading zero is not how msprobe numbers.
std::optional<int> numbered(const std::string& name, std::string_view word) {
  if (!name.starts_with(word)) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(word.size());
  if (digits.empty()) return -1;
  if (digits.size() > 9 || (digits[0] == '0' && digits.size() > 1)) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return static_cast<int>(*parse_int(digits));
}

bool has_json(const fs::path& folder) {
  return is_file(folder / "dump.json") || is_file(folder / "debug.json");
}

bool is_table(const fs::path& path) {
  return path.filename() == "dump.json" || path.filename() == "debug.json";
}

// A dump lies in the folder itself or in one of its own.
bool holds_dump(const fs::path& folder) {
  if (has_json(folder)) return true;
  return std::ranges::any_of(list_folder(folder)->entries, [&](const ListedEntry& entry) {
    return entry.kind == ListedEntry::Kind::folder && has_json(folder / entry.name);
  });
}

struct NumberedFolder {
  int number;
  fs::path path;
};

std::vector<NumberedFolder> numbered_folders(const fs::path& root, std::string_view word,
                                             std::vector<fs::path>& elsewhere) {
  std::vector<NumberedFolder> found;
  const auto listing = list_folder(root);
  for (const ListedEntry& entry : listing->entries) {
    if (entry.kind != ListedEntry::Kind::folder) continue;
    if (const auto number = numbered(entry.name, word))
      found.push_back({*number, root / entry.name});
    else if (to_lower(entry.name).starts_with(word) && holds_dump(root / entry.name))
      elsewhere.push_back(root / entry.name);
  }
  std::sort(found.begin(), found.end(),
            [](const NumberedFolder& a, const NumberedFolder& b) { return a.number < b.number; });
  return found;
}

void add_files(std::vector<FrameInfo>& frames, const fs::path& folder, const At& at) {
  for (const auto& [name, part] : {std::pair{"dump.json", ""}, std::pair{"debug.json", "debug"}}) {
    if (!is_file(folder / name)) continue;
    At here = at;
    if (*part != '\0') here.part += (here.part.empty() ? "" : " ") + std::string(part);
    frames.push_back(FrameInfo{here, {folder / name}});
  }
}

// A rank that wrote nothing is a section that says so, not a rank that was never there.
void add_folder(std::vector<FrameInfo>& frames, const fs::path& folder, const At& at) {
  const size_t before = frames.size();
  add_files(frames, folder, at);
  if (frames.size() == before) frames.push_back(FrameInfo{at, {folder / "dump.json"}});
}

// rank{R}, or rank in a run that is not distributed, which msprobe 26 calls proc{PID}.
void add_ranks(std::vector<FrameInfo>& frames, const fs::path& step, const At& at,
               std::vector<fs::path>& elsewhere) {
  At here = at;
  for (const NumberedFolder& rank : numbered_folders(step, "rank", elsewhere)) {
    here.rank = rank.number;
    add_folder(frames, rank.path, here);
  }
  here.rank = at.rank;
  for (const NumberedFolder& process : numbered_folders(step, "proc", elsewhere)) {
    here.part = process_part(process.number, at.part);
    if (process.number >= 0)
      add_folder(frames, process.path, here);
    else if (holds_dump(process.path))
      elsewhere.push_back(process.path);
  }
}

void add_steps(std::vector<FrameInfo>& frames, const fs::path& root, const At& at,
               std::vector<fs::path>& elsewhere) {
  for (const NumberedFolder& step : numbered_folders(root, "step", elsewhere)) {
    At here = at;
    here.step = step.number;
    add_ranks(frames, step.path, here, elsewhere);
  }
}

// The first level that has something is the dump; what lies on the others is left out, and said.
std::vector<FrameInfo> find_frames(const fs::path& root, std::vector<fs::path>& elsewhere) {
  std::vector<FrameInfo> frames;
  if (is_file(root)) {
    At at;
    if (root.native().ends_with("debug.json")) at.part = "debug";
    frames.push_back(FrameInfo{at, {root}});
    return frames;
  }
  const auto add_level = [&](auto&& find) {
    std::vector<FrameInfo> found;
    find(found);
    if (frames.empty())
      frames = std::move(found);
    else
      for (const FrameInfo& frame : found) elsewhere.push_back(frame.paths[0]);
  };
  add_level([&](auto& found) { add_files(found, root, {}); });
  add_level([&](auto& found) { add_ranks(found, root, {}, elsewhere); });
  add_level([&](auto& found) { add_steps(found, root, {}, elsewhere); });
  add_level([&](auto& found) {
    for (const std::string_view part : {"graph", "pynative"}) {
      At at;
      at.part = part;
      add_steps(found, root / part, at, elsewhere);
    }
  });
  return frames;
}

int recognise_msprobe(const fs::path& root) {
  const std::string name = root.filename().native();
  if (is_file(root)) {
    if (name.ends_with("dump.json") || name.ends_with("debug.json")) return 95;
    if (!name.ends_with(".json")) return 0;
    const auto head = read_msprobe_head(root);
    return head && head->has_data && !head->task.empty() ? 90 : 0;
  }
  std::vector<fs::path> elsewhere;
  const auto frames = find_frames(root, elsewhere);
  const bool any = std::any_of(frames.begin(), frames.end(),
                               [](const FrameInfo& frame) { return is_file(frame.paths[0]); });
  return any ? 90 : 0;
}

// Tables and tensors that lie where no frame looks for them.
void note_outside_of_frames(const fs::path& root, Survey& survey, std::vector<fs::path>& elsewhere) {
  OwnFolders own;
  std::set<fs::path> known(elsewhere.begin(), elsewhere.end());
  for (const FrameInfo& frame : survey.frames) {
    own.add_tree(frame.paths[0].parent_path() / kData);
    known.insert(frame.paths[0]);
  }
  for (const fs::path& path : elsewhere) own.add_tree(is_file(path) ? path.parent_path() / kData : path);
  std::vector<std::string> files = files_outside(own, root, survey.warnings);
  for (const std::string& file : files)
    if (const fs::path path = root / file; is_table(path) && !known.contains(path)) elsewhere.push_back(path);
  std::erase_if(files,
                [&](const std::string& file) { return is_table(root / file); });  // those are named above
  note_strays(root, files, survey.warnings);
}

// A step in which nothing was dumped has no section that could say so.
void note_empty_steps(const fs::path& root, const std::vector<fs::path>& elsewhere, Survey& survey) {
  const auto lies_below = [](const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
  };
  std::vector<fs::path> ignored;
  for (const fs::path& folder : {root, root / "graph", root / "pynative"})
    for (const NumberedFolder& step : numbered_folders(folder, "step", ignored)) {
      const auto is_of_step = [&](const fs::path& path) { return lies_below(path, step.path); };
      if (std::ranges::any_of(elsewhere, is_of_step) ||
          std::ranges::any_of(survey.frames,
                              [&](const FrameInfo& frame) { return is_of_step(frame.paths[0]); }))
        continue;
      survey.warnings.push_back(left_out(
          fmt::format("{}: has no rank and no dump.json: there is nothing to compare", display(step.path))));
    }
}

Result<Survey> survey_msprobe(const fs::path& root, const OpenOptions&) {
  std::vector<fs::path> elsewhere;
  Survey survey{find_frames(root, elsewhere)};
  if (is_folder(root) && !survey.frames.empty()) {
    note_outside_of_frames(root, survey, elsewhere);
    note_empty_steps(root, elsewhere, survey);
  }
  for (const fs::path& path : elsewhere)
    survey.warnings.push_back(left_out(fmt::format(
        "{}: is not part of what is compared; point at its folder, or give the folder a name such as rank0",
        display(path))));
  if (survey.frames.empty())
    return fail(ErrorKind::not_found,
                "{}: has no dump.json, and no rank, process or step folders with one; point at one of these",
                display(root));
  return survey;
}

// Old dumps do not name their framework; the types of their tensors tell.
void guess_framework(Frame& frame) {
  for (const Node& node : frame.nodes)
    for (const Item& item : node.items)
      if (item.meta != nullptr && item.stated != nullptr) {
        frame.framework = item.stated->dtype.starts_with("torch.") ? "pytorch" : "mindspore";
        return;
      }
}

Result<Content> content_of(const MsprobeHead& head, bool saw_checksum, const File& file) {
  if (head.task == "tensor") return Content::data;
  if (head.task == "statistics") return saw_checksum ? Content::checksums : Content::statistics;
  if (head.task.empty())
    return fail(ErrorKind::bad_format, "{}: does not say its task; 'tensor' or 'statistics' is expected",
                file.name());
  return fail(ErrorKind::bad_format,
              "{}: is of task '{}', which has nothing to compare; dump with tensor or statistics",
              file.name(), printable(head.task));
}

void take_head_member(const JsonMember& member, MsprobeHead& head) {
  const auto text = [&](std::string& into) {
    if (member.value.is_text(0)) into = member.value.text(0);
  };
  if (member.key == "task") text(head.task);
  if (member.key == "level") text(head.level);
  if (member.key == "framework") text(head.framework);
  if (member.key == "data") {
    head.has_data = true;
    head.data_is_object = member.value.kind(0) == JsonKind::object;
  }
}

// Files that were written and that nobody names: dump.json of a run that was killed may be behind its data.
// Their sizes do not matter, so the folder is not listed through base/listing.h, which asks for each.
void note_unnamed_files(const fs::path& folder, const std::unordered_set<std::string_view>& named,
                        Remarks& warnings) {
  std::vector<std::string> unnamed;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name =
        it.depth() == 0 ? it->path().filename().native() : it->path().lexically_relative(folder).native();
    const std::string before(name_before_compaction(name).value_or(name));
    if (named.contains(printable(before)) || it->is_directory(ignored)) continue;
    const Unclaimed kind = unclaimed_kind(folder / before);
    if (kind == Unclaimed::tensors || kind == Unclaimed::unknown) unnamed.push_back(name);
  }
  if (unnamed.empty()) return;
  std::ranges::sort(unnamed);
  warnings.push_back(
      left_out(fmt::format("{}: {} not named by the dump; skipped: {}", display(folder),
                           unnamed.size() == 1 ? "1 file is" : fmt::format("{} files are", unnamed.size()),
                           some_names(unnamed)),
               std::ssize(unnamed)));
}

Result<Frame> index_msprobe(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& path = info.paths[0];
  ASSAY_TRY(const auto file, File::open(path));
  const fs::path folder = path.parent_path();
  bool names_by_path = false;
  if (options.names_statistics_by_place) {
    ASSAY_TRY(const MsprobeHead early, read_msprobe_head(path));
    names_by_path = early.task != "tensor";
  }
  Frame frame;
  std::optional<MsprobeEntries> entries;
  const auto start = [&] {
    Frame empty;
    empty.at = info.at;
    frame = std::move(empty);
    entries.emplace(frame, options, folder / kData);
    if (names_by_path) entries->name_by_path();
  };
  start();
  MsprobeHead head;
  bool is_over = false, is_repeated = false;  // of 'data': its end was seen; there was another one before
  bool any_entry = false;
  ASSAY_TRY_DO(
      read_json_members(*file, "data", options.format.memory, [&](const JsonMember& member) -> Result<bool> {
        if (is_over && (member.inside || member.key == "data")) {
          start();
          is_over = any_entry = false;
          is_repeated = true;
        }
        is_over |= !member.inside && member.key == "data";
        any_entry |= member.inside;
        if (member.inside)
          entries->add(member.key, member.value);
        else
          take_head_member(member, head);
        return true;
      }));
  entries->finish();
  number_in_execution_order(frame);
  if (is_repeated)
    frame.warnings.push_back(
        left_out(fmt::format("{}: has 'data' twice; the later one counts", file->name())));
  if (!head.has_data)
    return fail(ErrorKind::bad_format, "{}: has no 'data'; is it a dump.json?", file->name());
  if (!head.data_is_object)
    return fail(ErrorKind::bad_format, "{}: its 'data' is not an object", file->name());
  if (!any_entry)
    frame.warnings.push_back(
        left_out(fmt::format("{}: has no entries: there is nothing to compare", file->name())));
  else if (frame.nodes.empty())
    frame.warnings.push_back(fmt::format("{}: has no entries with values that are wanted", file->name()));
  ASSAY_TRY(frame.content, content_of(head, entries->saw_checksum(), *file));
  // A folder may have the data of both.
  const bool has_other = is_file(folder / "dump.json") && is_file(folder / "debug.json");
  if (options.data && !has_other) note_unnamed_files(folder / kData, entries->named_files(), frame.warnings);
  if (!options.data && frame.content == Content::data) frame.content = Content::statistics;
  frame.framework = head.framework;
  if (frame.framework.empty()) guess_framework(frame);
  const fs::path stacks = options.stack_file.empty() ? folder / "stack.json" : options.stack_file;
  frame.has_stacks = options.stacks && is_file(stacks);
  if (frame.has_stacks) add_stacks(frame, stacks, options.format.memory);
  const fs::path construct = folder / "construct.json";
  if (options.structure && is_file(construct)) add_structure(frame, construct, options.format.memory);
  if (options.within && is_file(construct)) note_modules(frame, construct, options.format.memory);
  return frame;
}

}  // namespace

Result<MsprobeHead> read_msprobe_head(const fs::path& json) {
  ASSAY_TRY(const auto file, File::open(json));
  MsprobeHead head;
  constexpr int64_t kMemory = int64_t{64} << 20;
  ASSAY_TRY_DO(read_json_members(*file, "data", kMemory, [&](const JsonMember& member) -> Result<bool> {
    if (!member.inside) {
      take_head_member(member, head);
      return true;
    }
    head.has_data = head.data_is_object = true;
    return head.task.empty();  // dumpers write the task first; what comes behind is read only if it must be
  }));
  return head;
}

const Layout msprobe_layout = {"msprobe", recognise_msprobe, survey_msprobe, index_msprobe, true};

}  // namespace assay
