#include "assay/dump/ms_kernel.h"

#include "assay/base/checked.h"
#include "assay/base/listing.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/ms_kernel_parts.h"
#include "assay/dump/walk.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace assay {
namespace {

// ----- where a folder was taken

// Looking for kernels must not take long in a folder that has none.
constexpr int kMostEntriesSeen = 100'000;
constexpr int kMostFoldersDeep = 8;

std::optional<int> whole_in(std::string_view text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return static_cast<int>(*parse_int(text));
}

// …/rank_{R}/{net}/{graph}/{step}; without "rank_" in the path …/{R}/{net}/{graph}/{step} or
// …/{R}/{graph}/{step}. The folder that the user names may be any of these, so the whole path counts.
std::optional<At> kernel_place_of(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder, error).lexically_normal();
  std::vector<std::string> parts;
  for (const fs::path& part : whole.relative_path())
    if (!part.empty()) parts.push_back(part.native());
  const auto from_end = [&](size_t i) {
    return parts.size() >= i ? std::string_view(parts[parts.size() - i]) : std::string_view();
  };
  std::optional<int> rank;
  if (whole.native().find("rank_") != std::string::npos) {
    rank = whole_in(from_end(4).substr(from_end(4).rfind('_') + 1));
  } else {
    rank = whole_in(from_end(4));
    if (!rank) rank = whole_in(from_end(3));
  }
  const auto step = whole_in(from_end(1));
  if (!rank || !step) return std::nullopt;
  At at;
  at.rank = *rank;
  at.step = *step;
  return at;
}

bool is_kernel_file(const fs::path& folder, std::string_view name) {
  if (name == kKernelStatistics) return is_kernel_statistics(folder / name);
  return parse_kernel_name(name_before_compaction(name).value_or(name)).has_value();
}

int recognise_ms_kernel(const fs::path& root) {
  constexpr int kFound = 85;  // a dump.json of msprobe among the folders is surer still
  struct Folder {
    fs::path path;
    int depth;
  };
  std::vector<Folder> left = {{root, 0}};
  int seen = 0;
  while (!left.empty()) {
    const Folder folder = std::move(left.back());
    left.pop_back();
    const bool counts = folder.depth == 0 || kernel_place_of(folder.path).has_value();
    const auto listing = list_folder(folder.path);
    for (const ListedEntry& entry : listing->entries) {
      if (++seen > kMostEntriesSeen) return 0;
      if (entry.kind == ListedEntry::Kind::folder) {
        if (folder.depth < kMostFoldersDeep) left.push_back({folder.path / entry.name, folder.depth + 1});
      } else if (counts && is_kernel_file(folder.path, entry.name)) {
        return kFound;
      }
    }
  }
  return 0;
}

// ----- frames

bool wanted(int number, const std::vector<int>& numbers) {
  return numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// "rank_1", or a number. Where only some ranks or steps are asked for, those that are known to be of one.
bool may_hold_steps(const fs::path& folder, const OpenOptions& options) {
  constexpr std::string_view kRank = "rank_";
  const std::string name = folder.filename().native();
  if (name.starts_with(kRank)) {
    const auto rank = whole_in(std::string_view(name).substr(kRank.size()));
    return rank && wanted(*rank, options.ranks);
  }
  if (!whole_in(name)) return false;
  const auto at = kernel_place_of(folder);
  return at ? wanted(at->rank, options.ranks) && wanted(at->step, options.steps)
            : options.ranks.empty() && options.steps.empty();
}

// Folders that hold files of a kernel dump, or files that may be some.
Result<std::vector<fs::path>> find_folders(const fs::path& root, const OpenOptions& options,
                                           Remarks& warnings) {
  ASSAY_TRY(Walk walk, walk_folder(root));
  warnings = troubles_of(walk);
  std::set<std::string> folders;
  for (const FoundFile& file : walk.files) {
    const size_t slash = file.relative.rfind('/') + 1;  // npos + 1 is 0: in the root itself
    const std::string_view name = std::string_view(file.relative).substr(slash);
    if (name.ends_with(".npy") || name == kKernelStatistics) folders.insert(file.relative.substr(0, slash));
  }
  note_strays(root, files_outside(folders, walk), warnings);
  const auto counts = [&](const std::string& folder) { return may_hold_steps(root / folder, options); };
  note_empty_folders(root, empty_folders(walk, counts), warnings);
  std::vector<fs::path> paths;
  for (const std::string& relative : folders)
    paths.push_back(relative.empty() ? root : root / relative.substr(0, relative.size() - 1));
  std::stable_sort(paths.begin(), paths.end(),
                   [](const fs::path& a, const fs::path& b) { return natural_less(a.native(), b.native()); });
  return paths;
}

Result<Survey> survey_ms_kernel(const fs::path& root, const OpenOptions& options) {
  Survey survey;
  ASSAY_TRY(const std::vector<fs::path> folders, find_folders(root, options, survey.warnings));
  if (folders.empty())
    return fail(ErrorKind::not_found, "{}: holds no .npy files and no {}, however deep", display(root),
                kKernelStatistics);
  std::map<std::pair<int, int>, FrameInfo> frames;
  std::vector<std::string> elsewhere;
  for (const fs::path& folder : folders) {
    auto at = kernel_place_of(folder);
    if (!at && folder == root) at = At{};
    if (!at) {
      elsewhere.push_back(folder.native());
      continue;
    }
    if (!wanted(at->rank, options.ranks) || !wanted(at->step, options.steps)) continue;
    FrameInfo& frame = frames[{at->rank, at->step}];
    frame.at = *at;
    frame.paths.push_back(folder);
  }
  if (elsewhere.size() == folders.size())
    return fail(ErrorKind::bad_format,
                "{}: has tensors, but none in a folder rank_N/net/graph/step, where kernel dumps have them; "
                "they lie in {}",
                display(root), some_names(elsewhere));
  if (!elsewhere.empty())
    survey.warnings.push_back(
        left_out(fmt::format("{}: {} folders with tensors do not lie at rank_N/net/graph/step; skipped: {}",
                             display(root), elsewhere.size(), some_names(elsewhere)),
                 std::ssize(elsewhere)));
  if (frames.empty())
    return fail(ErrorKind::not_found,
                "{}: none of its {} folders with kernels is of a rank and step asked for", display(root),
                folders.size() - elsewhere.size());
  for (auto& [place, frame] : frames) survey.frames.push_back(std::move(frame));
  return survey;
}

// ----- items

// "(2,3)", "(4,)", "()", "[2, 3]"
std::optional<Shape> parse_shape(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || (text.front() != '(' && text.front() != '[')) return std::nullopt;
  if (text.back() != (text.front() == '(' ? ')' : ']')) return std::nullopt;
  text = trim(text.substr(1, text.size() - 2));
  if (text.ends_with(',')) text.remove_suffix(1);
  Shape shape;
  if (text.empty()) return shape;
  for (const std::string_view word : split(text, ',')) {
    const auto dim = parse_int(trim(word));
    if (!dim || *dim < 0) return std::nullopt;
    shape.dims.push_back(*dim);
  }
  const auto count = checked_product(shape.dims);
  if (!count || *count > INT64_MAX / 16) return std::nullopt;
  return shape;
}

// The entries of one frame, and how often each of them was met before.
struct NumberedEntry {
  KernelEntry entry;
  size_t folder = 0;   // of FrameInfo::paths
  int64_t number = 0;  // calls with the same key before this one, by time stamp
  std::string suffix() const { return number == 0 ? std::string() : fmt::format("#{}", number); }
};

void number_calls(std::vector<NumberedEntry>& entries) {
  std::unordered_map<std::string, std::vector<NumberedEntry*>> by_key;
  for (NumberedEntry& entry : entries) by_key[entry.entry.name.key()].push_back(&entry);
  for (auto& [key, calls] : by_key) {
    std::stable_sort(calls.begin(), calls.end(), [](const NumberedEntry* a, const NumberedEntry* b) {
      return a->entry.name.timestamp < b->entry.name.timestamp;
    });
    for (size_t i = 0; i < calls.size(); ++i) calls[i]->number = static_cast<int64_t>(i);
  }
}

// Files have no order of their own: calls by the time of their first tensor, inputs first. Rows of a table
// stay as they are.
void order_calls(std::vector<NumberedEntry>& entries) {
  const auto rows = std::stable_partition(entries.begin(), entries.end(),
                                          [](const NumberedEntry& e) { return !e.entry.file.empty(); });
  std::unordered_map<std::string, int64_t> begins;  // of each call
  const auto call = [](const NumberedEntry& e) { return e.entry.name.operation + e.suffix(); };
  for (auto it = entries.begin(); it != rows; ++it) {
    const auto [known, is_new] = begins.try_emplace(call(*it), it->entry.name.timestamp);
    known->second = std::min(known->second, it->entry.name.timestamp);
  }
  struct Key {
    int64_t begin;
    size_t position;
    const NumberedEntry* entry;
  };
  std::vector<Key> keys;
  for (auto it = entries.begin(); it != rows; ++it) keys.push_back({begins[call(*it)], keys.size(), &*it});
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    const KernelName &x = a.entry->entry.name, &y = b.entry->entry.name;
    if (x.operation != y.operation) return natural_less(x.operation, y.operation);
    if (a.entry->number != b.entry->number) return a.entry->number < b.entry->number;
    if (const int order = natural_compare(x.io, y.io)) return order < 0;
    if (const int order = natural_compare(x.slot, y.slot)) return order < 0;
    return a.position < b.position;
  });
  std::vector<NumberedEntry> sorted;
  sorted.reserve(entries.size());
  for (const Key& key : keys) sorted.push_back(std::move(entries[key.position]));
  std::move(rows, entries.end(), std::back_inserter(sorted));
  entries = std::move(sorted);
}

class FrameBuilder {
 public:
  FrameBuilder(Frame& frame, const OpenOptions& options) : frame_(frame), options_(options) {}

  // Of all rows of one statistic.csv.
  void add_statistics_file(size_t folder, const fs::path& csv) {
    csv_facts_[folder] = &frame_.facts.emplace_back(std::vector<Fact>{{"csv_file", csv.native()}});
  }

  void add(const NumberedEntry& numbered) {
    const KernelEntry& entry = numbered.entry;
    const std::string suffix = numbered.suffix();
    Item item;
    item.name = kept(entry.name.key() + suffix);
    if (!selected(item.name, options_)) return;
    if (entry.name.io.starts_with("input")) item.port.direction = Direction::input;
    if (entry.name.io.starts_with("output")) item.port.direction = Direction::output;
    if (const auto index = whole_in(entry.name.slot)) item.port.index = *index;
    if (entry.file.empty())
      describe(entry, numbered.folder, item);
    else
      item.data = TensorRef{static_cast<int32_t>(frame_.files.size()), 0};
    if (item.data) frame_.files.push_back(data_file(entry.file, entry.size));
    const std::string call = printable(entry.name.operation + suffix);
    if (frame_.nodes.empty() || frame_.nodes.back().name != call) {
      Node& node = frame_.nodes.emplace_back();
      node.name = frame_.strings.keep(call);
      node.type = kept(entry.name.type);
      node.order = std::ssize(frame_.nodes) - 1;
    }
    frame_.nodes.back().items.push_back(item);
  }

 private:
  std::string_view kept(std::string_view text) { return frame_.strings.keep(printable(text)); }

  std::string_view interned(const std::string& text) {
    const auto [known, is_new] = texts_.try_emplace(text);
    if (is_new) known->second = kept(text);
    return known->second;
  }

  void describe(const KernelEntry& entry, size_t folder, Item& item) {
    Stated stated;
    item.meta = meta_of(entry);
    const bool is_empty = item.meta != nullptr && item.meta->shape.count() == 0;
    if (!entry.says_nothing || is_empty) {
      stated.decimals = entry.decimals;
      stated.max = entry.max;
      stated.min = entry.min;
      stated.mean = entry.mean;
      stated.norm = entry.norm;
      if (entry.nonfinite != Nonfinite{}) stated.nonfinite = &frame_.nonfinite.emplace_back(entry.nonfinite);
    }
    stated.dtype = interned(entry.dtype);
    stated.shape = interned(entry.shape);
    stated.data_name = kept(entry.name.key());
    item.stated = &frame_.stated.emplace_back(stated);
    item.facts = csv_facts_[folder];
    if (!entry.trouble.empty()) item.trouble = kept(entry.trouble);
  }

  const TensorMeta* meta_of(const KernelEntry& entry) {
    const auto [known, is_new] = metas_.try_emplace(entry.dtype + " " + entry.shape, nullptr);
    if (!is_new) return known->second;
    const auto dtype = find_dtype(entry.dtype);
    auto shape = parse_shape(entry.shape);
    if (dtype && shape) known->second = &frame_.metas.emplace_back(TensorMeta{*dtype, std::move(*shape)});
    return known->second;
  }

  Frame& frame_;
  const OpenOptions& options_;
  std::unordered_map<size_t, const std::vector<Fact>*> csv_facts_;
  std::unordered_map<std::string, std::string_view> texts_;
  std::unordered_map<std::string, const TensorMeta*> metas_;
};

Result<Frame> index_ms_kernel(const FrameInfo& info, const OpenOptions& options) {
  Frame frame;
  frame.at = info.at;
  frame.framework = "mindspore";
  FrameBuilder builder(frame, options);
  std::vector<NumberedEntry> entries;
  for (size_t i = 0; i < info.paths.size(); ++i) {
    KernelFolder folder = read_kernel_folder(info.paths[i], options.null_is_zero);
    std::move(folder.warnings.begin(), folder.warnings.end(), std::back_inserter(frame.warnings));
    if (!folder.statistics.empty()) builder.add_statistics_file(i, folder.statistics);
    for (KernelEntry& entry : folder.entries) entries.push_back(NumberedEntry{std::move(entry), i, 0});
  }
  if (entries.empty())
    return fail(ErrorKind::bad_format, "{}: no tensors of kernels here{}{}", display(info.paths.at(0)),
                frame.warnings.empty() ? "" : ": ",
                frame.warnings.empty() ? "" : frame.warnings.front().text);
  const bool any_file = std::any_of(entries.begin(), entries.end(),
                                    [](const NumberedEntry& e) { return !e.entry.file.empty(); });
  frame.content = any_file ? Content::data : Content::statistics;
  number_calls(entries);
  order_calls(entries);
  for (const NumberedEntry& entry : entries) builder.add(entry);
  if (frame.nodes.empty())
    frame.warnings.push_back(fmt::format("{}: --only and --skip leave none of its {} tensors",
                                         display(info.paths.front()), entries.size()));
  return frame;
}

}  // namespace

const Layout ms_kernel_layout = {"ms_kernel", recognise_ms_kernel, survey_ms_kernel, index_ms_kernel, true};

}  // namespace assay
