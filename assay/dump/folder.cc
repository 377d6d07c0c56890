#include "assay/dump/folder.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/manifest.h"
#include "assay/dump/unclaimed.h"
#include "assay/dump/walk.h"
#include "assay/format/min_max.h"
#include "assay/format/safetensors_header.h"
#include "assay/model/name_number.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

// What became of one file of the folder.
struct ReadFile {
  bool counts = false;   // it is a tensor file, or may be one that we cannot read
  bool is_text = false;  // … or surely none
  std::vector<TensorDraft> tensors = {};
  std::vector<ValueDraft> values = {};
  Remarks warnings = {};
};

// A checkpoint in shards: the shards are here themselves, and the index would name every tensor a second
// time.
bool is_shard_index(const std::string& relative) { return relative.ends_with(".index.json"); }

// Of the tensors that an index places in a shard, those that the shard lacks.
std::vector<std::string> missing_from(const ReadFile& shard, const std::vector<std::string>& wanted,
                                      bool names_are_keys) {
  std::set<std::string_view> held;
  for (const TensorDraft& tensor : shard.tensors) {
    if (tensor.name.empty()) return {};  // it could not be read, which its own row says
    held.insert(tensor.name);
  }
  std::vector<std::string> missing;
  for (const std::string& name : wanted)
    if (!held.contains(name)) missing.push_back(name);
  // Other formats may have a word of their own before every name.
  if (!names_are_keys && missing.size() == wanted.size()) return {};
  return missing;
}

// … but it tells which shards there should be, and what should be in them.
void note_missing_shards(const fs::path& root, const FoundFile& index, const std::vector<FoundFile>& files,
                         const std::vector<ReadFile>& reads, const OpenOptions& options, Remarks& warnings) {
  const int64_t memory = options.format.memory;
  if (index.size > memory) return;
  const auto opened = File::open(root / index.relative);
  std::string json(static_cast<size_t>(index.size), '\0');
  if (!opened || !(*opened)->read(0, std::as_writable_bytes(std::span(json)))) return;
  const auto entries = parse_safetensors_index(json, (*opened)->name(), memory);
  if (!entries) return;  // an index of something else
  std::map<std::string_view, const ReadFile*> present;
  for (size_t i = 0; i < files.size(); ++i) present.emplace(files[i].relative, &reads[i]);
  const std::string folder = index.relative.substr(0, index.relative.rfind('/') + 1);
  std::map<std::string, std::vector<std::string>> wanted;  // tensors by shard
  bool any_present = false;  // else the index is left over from another form of the checkpoint
  for (const ShardEntry& entry : *entries) {
    any_present |= present.contains(folder + entry.shard);
    if (selected(printable(fmt::format("{}{}:{}", folder, entry.shard, entry.name)), options))
      wanted[entry.shard].push_back(printable(entry.name));
  }
  if (!any_present) return;
  for (const auto& [shard, tensors] : wanted) {
    const auto found = present.find(folder + shard);
    if (found == present.end()) {
      warnings.push_back(
          unreadable(fmt::format("{}: names {}, which is not there", (*opened)->name(), printable(shard))));
      continue;
    }
    const auto missing = missing_from(*found->second, tensors, shard.ends_with(".safetensors"));
    if (!missing.empty())
      warnings.push_back(unreadable(
          fmt::format("{}: {} of the {} tensors that it places in {} are not there: {}", (*opened)->name(),
                      missing.size(), tensors.size(), printable(shard), some_names(missing))));
  }
}

// Files that no row stands for.
class Skipped {
 public:
  void add(const std::string& relative, bool is_text) {
    const std::string name = fs::path(relative).filename().native();
    (is_dump_table(name)                ? tables_
     : is_text || name.starts_with('.') ? texts_
                                        : unknown_)
        .push_back(relative);
  }
  size_t count() const { return tables_.size() + texts_.size() + unknown_.size(); }

  void note(const fs::path& root, Remarks& warnings) const {
    const auto say = [&](const std::vector<std::string>& names, std::string_view one, std::string_view many) {
      return fmt::format("{}: {}: {}", display(root),
                         names.size() == 1 ? std::string(one) : fmt::format(fmt::runtime(many), names.size()),
                         some_names(names));
    };
    if (!tables_.empty())
      warnings.push_back(left_out(say(tables_, "what 1 table of a dump says is not read; point at its folder",
                                      "what {} tables of dumps say is not read; point at their folders"),
                                  std::ssize(tables_)));
    note_unknown_files(root, unknown_, warnings);
    if (!texts_.empty())
      warnings.push_back(say(texts_, "1 file that holds no tensors was skipped",
                             "{} files that hold no tensors were skipped"));
  }

 private:
  std::vector<std::string> tables_, texts_, unknown_;
};

// Known by its name to hold exactly one unnamed tensor: not worth opening before it is measured.
// ".bin" is excluded because checkpoints of many tensors have that suffix too.
bool needs_no_look(const std::string& relative) {
  const Format* const format = find_format_by_suffix(relative);
  return format != nullptr && format->one_tensor && !to_lower(relative).ends_with(".bin");
}

ReadFile broken(std::string why) {
  ReadFile read;
  read.counts = true;
  read.tensors.emplace_back().trouble = std::move(why);
  return read;
}

bool may_be_lost(const std::string& relative) {
  return is_plainly_text(fs::path(relative).filename().native());
}

ReadFile lost() { return ReadFile{.is_text = true}; }

ReadFile one_unnamed() {
  ReadFile read;
  read.counts = true;
  read.tensors.emplace_back().has_data = true;
  return read;
}

// Whether a file that is no format's by content or suffix counts: only as raw bytes that the user described.
ReadFile read_file(const fs::path& path, const FoundFile& found, const OpenOptions& options) {
  const bool raw = options.format.raw_dtype.has_value();
  if (!found.trouble.empty()) return may_be_lost(found.relative) ? lost() : broken(found.trouble);
  if (raw && !found.is_statistics && !may_be_lost(found.relative)) return one_unnamed();
  if (!found.is_statistics && needs_no_look(found.relative)) {
    if (found.size == 0) return broken(fmt::format("{}: is empty", display(path)));
    return one_unnamed();
  }
  const auto file = File::open(path);
  if (!file) return may_be_lost(found.relative) ? lost() : broken(file.error().message);
  if (raw && !found.is_statistics) return ReadFile{.is_text = !may_hold_tensors(**file)};
  const auto format = recognise_file(**file);
  if (!format) return broken(format.error().message);
  if (*format == nullptr && found.is_statistics && find_format_by_suffix(found.relative) != nullptr &&
      is_cut_off_statistics(**file))
    return broken(fmt::format("{}: is cut off; it should hold the statistics of a file", display(path)));
  if (*format == nullptr)  // also a .stats.json of some other tool
    return ReadFile{.is_text = !may_hold_tensors(**file)};
  if ((*file)->size() == 0) return broken(fmt::format("{}: is empty", display(path)));
  auto set = (*format)->open(*file, options.format);
  if (!set) return broken(set.error().message);
  ReadFile read;
  read.counts = true;
  read.warnings = std::move(set->warnings);
  if (set->tensors.empty() && found.is_statistics)
    return broken(fmt::format("{}: describes no tensor of the file that it stands for", display(path)));
  if (set->tensors.empty()) read.warnings.push_back(fmt::format("{}: holds no tensors", display(path)));
  read.values = draft_values(set->values);
  read.tensors = draft_tensors(path, std::move(*set), options);
  return read;
}

std::optional<std::string> path_before_min_max(const std::string& relative) {
  const size_t name = relative.rfind('/') + 1;
  const auto before = name_before_min_max(std::string_view(relative).substr(name));
  return before ? std::optional(relative.substr(0, name) + *before) : std::nullopt;
}

// Numbers of the files in execution order: those of the manifest as it lists them, then the rest as they
// stand.
std::vector<size_t> execution_order(const std::vector<FoundFile>& files, const std::vector<ReadFile>& reads,
                                    const Manifest& manifest, const OpenOptions& options, Remarks& warnings) {
  std::unordered_map<std::string, size_t> by_path;
  for (size_t i = 0; i < files.size(); ++i)
    if (reads[i].counts) by_path.emplace(files[i].relative, i);
  // What the smallest and largest elements stand for has its place, unless it is there itself. A file that
  // was dumped under such a name is a tensor of its own.
  const std::set<std::string_view> named(manifest.paths.begin(), manifest.paths.end());
  for (size_t i = 0; i < files.size(); ++i)
    if (const auto stood_for = path_before_min_max(files[i].relative);
        stood_for && reads[i].counts && !named.contains(files[i].relative))
      by_path.emplace(*stood_for, i);
  std::vector<size_t> order;
  std::vector<bool> listed(files.size());
  std::vector<std::string> missing, others, twice;
  std::set<std::string_view> present;
  for (const FoundFile& file : files) present.insert(file.relative);
  for (const std::string& path : manifest.paths) {
    const auto found = by_path.find(path);
    if (found == by_path.end()) {
      const bool is_absent = find_format_by_suffix(path) != nullptr && !present.contains(path);
      if (!is_absent)
        others.push_back(path);
      else if (selected(path, options))
        missing.push_back(path);
    } else if (listed[found->second]) {
      twice.push_back(path);
    } else {
      listed[found->second] = true;
      order.push_back(found->second);
    }
  }
  const std::string_view no_order =
      order.empty() ? "; nothing of what is there is listed, so that it tells no order" : "";
  if (!missing.empty()) {
    const std::string text =
        fmt::format("{}: {} of the {} files that it names are not there: {}{}", display(manifest.file),
                    missing.size(), manifest.paths.size(), some_names(missing), no_order);
    // One that names nothing of what is here may be left over from another dump.
    warnings.push_back(order.empty() ? left_out(text, std::ssize(missing)) : unreadable(text));
  }
  if (!others.empty())
    warnings.push_back(fmt::format("{}: {} of its {} entries are no tensor files of the folder: {}{}",
                                   display(manifest.file), others.size(), manifest.paths.size(),
                                   some_names(others), missing.empty() ? no_order : ""));
  if (!twice.empty())
    warnings.push_back(fmt::format("{}: lists {} files more than once; the first place counts: {}",
                                   display(manifest.file), twice.size(), some_names(twice)));
  if (manifest.paths.empty() && !manifest.file.empty())
    warnings.push_back(fmt::format("{}: lists no files, so that it tells no order", display(manifest.file)));
  const size_t in_manifest = order.size();
  std::vector<std::string> unlisted;
  for (size_t i = 0; i < files.size(); ++i) {
    if (listed[i]) continue;
    order.push_back(i);
    if (reads[i].counts) unlisted.push_back(files[i].relative);
  }
  if (in_manifest > 0 && !unlisted.empty())
    warnings.push_back(fmt::format("{}: does not list {} of the {} tensor files, which come last by name: {}",
                                   display(manifest.file), unlisted.size(), unlisted.size() + in_manifest,
                                   some_names(unlisted)));
  return order;
}

// Whether a manifest lists anything of what is there: else it tells no order.
bool lists_any(const Manifest& manifest, const std::vector<FoundFile>& files) {
  const std::set<std::string_view> named(manifest.paths.begin(), manifest.paths.end());
  return std::ranges::any_of(files, [&](const FoundFile& file) {
    const auto stood_for = path_before_min_max(file.relative);
    return named.contains(file.relative) || (stood_for && named.contains(*stood_for));
  });
}

// Sorts by what the files were given, if that is something for each of them and another for any two; else
// answers two that tell no order, or one that has nothing.
template <class T>
std::vector<std::string> sort_by_distinct(std::vector<FoundFile>& files,
                                          std::optional<T> (*of)(const fs::path&, const FoundFile&),
                                          const fs::path& root) {
  std::vector<std::pair<T, size_t>> keys;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto key = of(root, files[i]);
    if (!key) return {files[i].relative};
    keys.emplace_back(*key, i);
  }
  std::ranges::sort(keys);
  if (const auto tie = std::ranges::adjacent_find(keys, {}, &std::pair<T, size_t>::first); tie != keys.end())
    return {files[tie->second].relative, files[std::next(tie)->second].relative};
  std::vector<FoundFile> sorted;
  for (const auto& [key, i] : keys) sorted.push_back(std::move(files[i]));
  files = std::move(sorted);
  return {};
}

// Where nothing states the order: by the numbers that names have (conv1, bn2, relu3), or by time if the user
// trusts it. Else the natural order of names stays.
bool find_order(const fs::path& root, const OpenOptions& options, std::vector<FoundFile>& files,
                Remarks& warnings) {
  const auto number_of = [](const fs::path&, const FoundFile& file) { return first_number(file.relative); };
  using Time = std::optional<fs::file_time_type>;
  const auto time_of = [](const fs::path& folder, const FoundFile& file) -> Time {
    std::error_code error;
    const auto time = fs::last_write_time(path_of(folder, file), error);
    return error ? Time() : Time(time);
  };
  if (options.order_by_time) {
    const std::vector<std::string> untold = sort_by_distinct<fs::file_time_type>(files, time_of, root);
    if (untold.empty()) return true;
    warnings.push_back(fmt::format(
        "{}: {}, so that times tell no order; the order of names is used instead", display(root),
        untold.size() == 1 ? fmt::format("{} has no modification time", printable(untold[0]))
                           : fmt::format("files share a modification time ({})", some_names(untold))));
  }
  sort_by_distinct<int64_t>(files, number_of, root);
  return false;
}

void add_node(Frame& frame, const fs::path& root, FoundFile& file, ReadFile& read,
              const OpenOptions& options) {
  const auto number = static_cast<int32_t>(frame.files.size());
  const std::string shown = printable_name(file.relative);
  Node node;
  for (size_t slot = 0; slot < read.tensors.size(); ++slot) {
    TensorDraft& draft = read.tensors[slot];
    std::string name = draft.name.empty() ? file.relative : file.relative + ":" + draft.name;
    if (!selected(name, options)) continue;
    name.replace(0, file.relative.size(), shown);
    node.items.push_back(
        make_item(frame, std::move(name), number, static_cast<int32_t>(slot), std::move(draft)));
    if (file.is_statistics) node.items.back().described_in = number;
  }
  for (const ValueDraft& value : read.values)
    if (selected(file.relative + ":" + value.name, options))
      node.items.push_back(make_value_item(frame, shown + ":" + value.name, value));
  if (node.items.empty()) return;
  frame.files.push_back(data_file(path_of(root, file), file.size));
  node.name = frame.strings.keep(shown);
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

// "mp_rank_01", "rank0": one of a checkpoint in shards. Any other folder may be empty.
bool is_folder_of_rank(const std::string& relative) {
  std::string name = to_lower(relative.substr(relative.rfind('/') + 1));
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size()) return false;
  name.resize(end + 1);
  while (name.ends_with('_') || name.ends_with('-')) name.pop_back();
  return name.ends_with("rank");
}

Result<Frame> index_folder(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& root = info.paths.at(0);
  ASSAY_TRY(Walk walk, walk_folder(root));
  Frame frame;
  frame.at = info.at;
  std::error_code ignored;
  frame.given_as = fs::absolute(root / "", ignored).lexically_normal().parent_path().filename().string();
  frame.warnings = std::move(walk.warnings);
  note_empty_folders(root, empty_folders(walk, is_folder_of_rank), frame.warnings);

  auto manifest = read_manifest(root, options.format.memory);
  if (!manifest) {  // some other tool's manifest.json, perhaps: the tensors are still worth comparing
    frame.warnings.push_back(manifest.error().message + "; the order of names is used instead");
    manifest = std::nullopt;
  }
  const auto indexes = std::stable_partition(walk.files.begin(), walk.files.end(), [](const FoundFile& file) {
    return !is_shard_index(file.relative);
  });
  const std::vector<FoundFile> shard_indexes(std::make_move_iterator(indexes),
                                             std::make_move_iterator(walk.files.end()));
  walk.files.erase(indexes, walk.files.end());
  std::erase_if(walk.files, [&](const FoundFile& file) { return *manifest && is_manifest(file.relative); });

  const bool is_listed = *manifest && lists_any(**manifest, walk.files);
  const bool is_in_order = !is_listed && find_order(root, options, walk.files, frame.warnings);

  std::vector<ReadFile> reads(walk.files.size());
  parallel_for(walk.files.size(), [&](size_t i) {
    if (!cancelled()) reads[i] = read_file(path_of(root, walk.files[i]), walk.files[i], options);
  });
  ASSAY_TRY_DO(check_cancelled());
  for (const FoundFile& index : shard_indexes)
    note_missing_shards(root, index, walk.files, reads, options, frame.warnings);

  Skipped skipped;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!reads[i].counts) skipped.add(walk.files[i].relative, reads[i].is_text);
    std::move(reads[i].warnings.begin(), reads[i].warnings.end(), std::back_inserter(frame.warnings));
  }
  if (skipped.count() == reads.size())
    return fail(ErrorKind::not_found, "{}: no tensor files in this folder (other files skipped: {})",
                display(root), reads.size());
  skipped.note(root, frame.warnings);

  const std::vector<size_t> order =
      execution_order(walk.files, reads, manifest->value_or(Manifest{}), options, frame.warnings);
  frame.states_order = is_listed || is_in_order;
  for (const size_t i : order) add_node(frame, root, walk.files[i], reads[i], options);
  if (std::all_of(walk.files.begin(), walk.files.end(), [](const FoundFile& f) { return f.is_statistics; }))
    frame.content = Content::statistics;
  if (frame.nodes.empty())
    frame.warnings.push_back(fmt::format("{}: --only and --skip leave none of the tensors of {} files",
                                         display(root), reads.size() - skipped.count()));
  return frame;
}

}  // namespace

const Layout folder_layout = {"folder", recognise_folder, survey_folder, index_folder, false, false, true};

}  // namespace assay
