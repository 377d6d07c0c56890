#include "assay/dump/folder.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/manifest.h"
#include "assay/dump/walk.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

// What became of one file of the folder.
struct Read {
  bool counts = false;  // it is a tensor file, or may be one that we cannot read
  std::vector<TensorDraft> tensors;
  Remarks warnings;
};

// Files that people keep beside tensors. One of these that cannot be read is no loss; any other one may have
// been a tensor.
bool is_plainly_text(const std::string& relative) {
  static constexpr std::array<std::string_view, 16> kSuffixes = {
      ".txt",  ".md",   ".json", ".jsonl", ".csv",  ".log", ".yaml",  ".yml",
      ".xlsx", ".html", ".py",   ".sh",    ".onnx", ".db",  ".pbtxt", ".lock"};
  const std::string name = to_lower(relative);
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view s) { return name.ends_with(s); });
}

// Where other layouts have the statistics of a run, or the names of its tensors.
bool is_dump_table(const std::string& relative) {
  const std::string name = fs::path(relative).filename().native();
  return name == "dump.json" || name == "debug.json" || name == "statistic.csv";
}

// A checkpoint in shards: the shards are here themselves, and the index would name every tensor a second
// time.
bool is_shard_index(const std::string& relative) { return relative.ends_with(".index.json"); }

// Known by its name to hold exactly one unnamed tensor: not worth opening before it is measured.
// ".bin" is excluded because checkpoints of many tensors have that suffix too.
bool needs_no_look(const std::string& relative) {
  const Format* const format = find_format_by_suffix(relative);
  return format != nullptr && format->one_tensor && !to_lower(relative).ends_with(".bin");
}

Read broken(std::string why) {
  Read read;
  read.counts = true;
  read.tensors.emplace_back().trouble = std::move(why);
  return read;
}

Read one_unnamed() {
  Read read;
  read.counts = true;
  read.tensors.emplace_back().has_data = true;
  return read;
}

// Whether a file that is no format's by content or suffix counts: only as raw bytes that the user described.
Read read_file(const fs::path& path, const FoundFile& found, const OpenOptions& options) {
  const bool raw = options.format.raw_dtype.has_value();
  if (!found.trouble.empty()) return is_plainly_text(found.relative) ? Read{} : broken(found.trouble);
  if (raw && !found.is_statistics) return is_plainly_text(found.relative) ? Read{} : one_unnamed();
  if (!found.is_statistics && needs_no_look(found.relative)) {
    if (found.size == 0) return broken(fmt::format("{}: is empty", display(path)));
    return one_unnamed();
  }
  const auto file = File::open(path);
  if (!file) return is_plainly_text(found.relative) ? Read{} : broken(file.error().message);
  const auto format = recognise_file(**file);
  if (!format) return broken(format.error().message);
  if (*format == nullptr) return {};  // also a .stats.json of some other tool
  if ((*file)->size() == 0) return broken(fmt::format("{}: is empty", display(path)));
  auto set = (*format)->open(*file, options.format);
  if (!set) return broken(set.error().message);
  Read read;
  read.counts = true;
  read.warnings = std::move(set->warnings);
  if (set->tensors.empty()) read.warnings.push_back(fmt::format("{}: holds no tensors", display(path)));
  read.tensors = draft_tensors(path, std::move(*set), options);
  return read;
}

// Numbers of the files in execution order: those of the manifest as it lists them, then the rest as they
// stand.
std::vector<size_t> execution_order(const std::vector<FoundFile>& files, const std::vector<Read>& reads,
                                    const Manifest& manifest, Remarks& warnings) {
  std::unordered_map<std::string_view, size_t> by_path;
  for (size_t i = 0; i < files.size(); ++i)
    if (reads[i].counts) by_path.emplace(files[i].relative, i);
  std::vector<size_t> order;
  std::vector<bool> listed(files.size());
  std::vector<std::string> missing, twice;
  for (const std::string& path : manifest.paths) {
    const auto found = by_path.find(path);
    if (found == by_path.end()) {
      missing.push_back(path);
    } else if (listed[found->second]) {
      twice.push_back(path);
    } else {
      listed[found->second] = true;
      order.push_back(found->second);
    }
  }
  if (!missing.empty())
    warnings.push_back(fmt::format("{}: {} of its {} entries are no tensor files of the folder: {}",
                                   display(manifest.file), missing.size(), manifest.paths.size(),
                                   some_names(missing)));
  if (!twice.empty())
    warnings.push_back(fmt::format("{}: lists {} files more than once; the first place counts: {}",
                                   display(manifest.file), twice.size(), some_names(twice)));
  for (size_t i = 0; i < files.size(); ++i)
    if (!listed[i]) order.push_back(i);
  return order;
}

void add_node(Frame& frame, const fs::path& root, FoundFile& file, Read& read, const OpenOptions& options) {
  const auto number = static_cast<int32_t>(frame.files.size());
  Node node;
  for (size_t slot = 0; slot < read.tensors.size(); ++slot) {
    TensorDraft& draft = read.tensors[slot];
    std::string name = draft.name.empty() ? file.relative : file.relative + ":" + draft.name;
    if (!selected(name, options)) continue;
    node.items.push_back(
        make_item(frame, std::move(name), number, static_cast<int32_t>(slot), std::move(draft)));
    if (file.is_statistics) node.items.back().described_in = number;
  }
  if (node.items.empty()) return;
  frame.files.push_back(FileEntry{path_of(root, file), file.size});
  node.name = frame.strings.keep(printable(file.relative));
  node.order = std::ssize(frame.nodes);
  frame.nodes.push_back(std::move(node));
}

int recognise_folder(const fs::path& root) {
  std::error_code ignored;
  return fs::is_directory(root, ignored) ? 50 : 0;
}

Result<Survey> survey_folder(const fs::path& root, const OpenOptions&) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored))
    return fail(ErrorKind::bad_argument, "{}: is not a folder", display(root));
  return Survey{{FrameInfo{At{}, {root}}}};
}

Result<Frame> index_folder(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& root = info.paths.at(0);
  ASSAY_TRY(Walk walk, walk_folder(root));
  Frame frame;
  frame.at = info.at;
  frame.warnings = std::move(walk.warnings);

  auto manifest = read_manifest(root, options.format.memory);
  if (!manifest) {  // some other tool's manifest.json, perhaps: the tensors are still worth comparing
    frame.warnings.push_back(manifest.error().message + "; the order of names is used instead");
    manifest = std::nullopt;
  }
  std::erase_if(walk.files, [&](const FoundFile& file) {
    return is_shard_index(file.relative) || (*manifest && is_manifest(file.relative));
  });

  std::vector<Read> reads(walk.files.size());
  tbb::parallel_for(size_t{0}, walk.files.size(), [&](size_t i) {
    if (!cancelled()) reads[i] = read_file(path_of(root, walk.files[i]), walk.files[i], options);
  });
  ASSAY_TRY_DO(check_cancelled());

  std::vector<std::string> skipped, tables;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!reads[i].counts)
      (is_dump_table(walk.files[i].relative) ? tables : skipped).push_back(walk.files[i].relative);
    std::move(reads[i].warnings.begin(), reads[i].warnings.end(), std::back_inserter(frame.warnings));
  }
  if (skipped.size() + tables.size() == reads.size())
    return fail(ErrorKind::not_found, "{}: no tensor files in this folder (other files skipped: {})",
                display(root), reads.size());
  if (!tables.empty())
    frame.warnings.push_back(
        left_out(fmt::format("{}: what {} not read; point at the folder it is in: {}", display(root),
                             tables.size() == 1 ? "1 table of a dump says is"
                                                : fmt::format("{} tables of dumps say is", tables.size()),
                             some_names(tables)),
                 std::ssize(tables)));
  if (!skipped.empty())
    frame.warnings.push_back(
        fmt::format("{}: {} skipped: {}", display(root),
                    skipped.size() == 1 ? "1 file that holds no tensors was"
                                        : fmt::format("{} files that hold no tensors were", skipped.size()),
                    some_names(skipped)));

  const std::vector<size_t> order =
      execution_order(walk.files, reads, manifest->value_or(Manifest{}), frame.warnings);
  for (const size_t i : order) add_node(frame, root, walk.files[i], reads[i], options);
  if (std::all_of(walk.files.begin(), walk.files.end(), [](const FoundFile& f) { return f.is_statistics; }))
    frame.content = Content::statistics;
  if (frame.nodes.empty())
    frame.warnings.push_back(fmt::format("{}: --only and --skip leave none of the tensors of {} files",
                                         display(root), reads.size() - skipped.size() - tables.size()));
  return frame;
}

}  // namespace

const Layout folder_layout = {"folder", recognise_folder, survey_folder, index_folder};

}  // namespace assay
