#include "assay/dump/op_folders.h"

#include "assay/base/checked.h"
#include "assay/base/listing.h"
#include "assay/base/text.h"
#include "assay/dump/walk.h"
#include "assay/format/stats_json.h"
#include "assay/model/graph.h"

#include <algorithm>
#include <unordered_map>

namespace assay {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  const auto listing = list_folder(folder);
  for (const ListedEntry& entry : listing->entries)
    if (entry.kind == ListedEntry::Kind::folder) found.push_back(folder / entry.name);
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().native(), b.filename().native());
  });
  return found;
}

std::optional<TensorMeta> stated_meta(std::string_view type, std::span<const std::string_view> dims) {
  const auto found = find_dtype(type);
  return found ? stated_meta(*found, dims) : std::nullopt;
}

std::optional<TensorMeta> stated_meta(DType dtype, std::span<const std::string_view> dims) {
  TensorMeta meta{dtype, {}};
  for (const std::string_view dim : dims) {
    const auto extent = parse_int(dim);
    if (!extent || *extent < 0) return std::nullopt;
    meta.shape.dims.push_back(*extent);
  }
  const auto count = checked_product(meta.shape.dims);
  if (!count || !checked_multiply(*count, size_of(dtype))) return std::nullopt;
  return meta;
}

std::optional<int> whole_number(std::string_view text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return static_cast<int>(*parse_int(text));
}

void read_port_number(std::string_view text, Port& port) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  port.index = whole_number(text.substr(0, end)).value_or(0);
  const size_t dot = text.rfind('.');
  port.is_again = dot != std::string_view::npos && whole_number(text.substr(dot + 1)).has_value();
}

namespace {

// "0_4001" is 0, "cuda3_77" is 3.
std::optional<int> device_of(std::string_view rank) {
  const std::string_view device = rank.substr(0, rank.find('_'));
  const size_t digits = device.find_first_of("0123456789");
  return digits == std::string_view::npos ? std::nullopt : whole_number(device.substr(digits));
}

}  // namespace

std::vector<int> rank_numbers(const std::vector<fs::path>& ranks) {
  std::vector<int> numbers;
  std::set<int> seen;
  for (const fs::path& rank : ranks) {
    const auto number = device_of(rank.filename().native());
    if (!number || !seen.insert(*number).second) {
      numbers.clear();
      break;
    }
    numbers.push_back(*number);
  }
  if (numbers.size() != ranks.size()) {
    numbers.clear();
    for (size_t i = 0; i < ranks.size(); ++i) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

fs::path below_root(const fs::path& root, const fs::path& path) {
  const auto whole = [](const fs::path& each) { return fs::absolute(each).lexically_normal(); };
  return whole(path).lexically_relative(whole(root));
}

std::vector<std::string> empty_ranks(const fs::path& root, const std::vector<fs::path>& ranks,
                                     const OpenOptions& options, bool (*is_rank)(std::string_view name)) {
  std::vector<std::string> found;
  std::set<fs::path> holders;
  for (const fs::path& rank : ranks) holders.insert(rank.parent_path());
  for (const fs::path& holder : holders) {
    const std::string way = below_root(root, holder).native();
    if (way.empty() || way.starts_with("..")) continue;  // one of its ranks is all that is meant
    for (const fs::path& folder : folders_in(holder)) {
      const std::string name = folder.filename().native();
      const auto device = device_of(name);
      const bool is_asked_for = options.ranks.empty() ||
                                (device && std::ranges::find(options.ranks, *device) != options.ranks.end());
      if (is_rank(name) && is_asked_for && is_empty_tree(folder))
        found.push_back(below_root(root, folder).native());
    }
  }
  return found;
}

const std::string& item_name(const OpFile& file) { return file.name.empty() ? file.relative : file.name; }

OpFrame::OpFrame(Frame& frame, const OpenOptions& options, fs::path root, std::vector<fs::path> ranks)
    : frame_(frame), options_(options), root_(std::move(root)), ranks_(std::move(ranks)) {}

void OpFrame::add(std::string path, std::vector<OpFile> files) {
  const auto [found, is_new] = by_path_.try_emplace(path);
  if (is_new) in_order_.push_back(std::move(path));
  std::move(files.begin(), files.end(), std::back_inserter(found->second));
}

void OpFrame::finish(std::string_view (*above)(std::string_view path)) {
  add_unknown_ops(above);
  const Graph& graph = *frame_.graph;
  for (const int32_t op : graph.in_order())
    if (const auto files = by_path_.find(graph.at(op).path); files != by_path_.end()) {
      make_node(op, files->second);
      by_path_.erase(files);  // a path that two models share belongs to the first
    }
}

void OpFrame::add_unknown_ops(std::string_view (*above)(std::string_view path)) {
  std::shared_ptr<Graph> own;
  std::unordered_map<std::string_view, int32_t> added;
  const auto find = [&](std::string_view path) {
    if (const auto found = added.find(path); found != added.end()) return found->second;
    return frame_.graph == nullptr ? Graph::kNone : frame_.graph->find_path(path);
  };
  if (frame_.graph == nullptr) {
    own = std::make_shared<Graph>();
    added.emplace("", own->add({.name = "root", .type = {}}));
  }
  for (const std::string& path : in_order_) {
    std::vector<std::string_view> missing;
    std::string_view at = path;
    while (find(at) < 0 && !at.empty()) {
      missing.push_back(at);
      at = above(at);
    }
    if (missing.empty()) continue;
    if (own == nullptr) own = std::make_shared<Graph>(frame_.graph);
    int32_t parent = std::max(find(at), 0);
    for (; !missing.empty(); missing.pop_back()) {
      const std::string_view kept = own->strings.keep(missing.back());
      const std::string_view last = kept.substr(above(kept).size());
      const size_t word = last.find_first_not_of("/._0123456789");
      GraphOp op;
      op.name = op.path = kept;
      op.type = word == std::string_view::npos ? last : last.substr(word);
      op.kind = kind_of(frame_.framework, op.type);
      op.parent = parent;
      parent = own->add(std::move(op));
      added.emplace(kept, parent);
    }
  }
  if (own == nullptr) return;
  own->connect_by_names();
  frame_.graph = std::move(own);
}

void OpFrame::note_other_ranks(RankTensors own,
                               const std::function<RankContents(const fs::path& rank)>& look) {
  const auto keep_wanted = [&](RankTensors& tensors) {
    std::erase_if(tensors, [&](const std::string& name) { return !selected(name, options_); });
  };
  keep_wanted(own);
  const auto say = [&](const RankTensors& some, const fs::path& of, const RankTensors& others,
                       const fs::path& lacking) {
    std::vector<std::string> names;
    std::ranges::set_difference(some, others, std::back_inserter(names));
    if (names.empty()) return;
    frame_.warnings.push_back(
        left_out(fmt::format("{}: {} that {} has {} not there: {}", display(lacking),
                             names.size() == 1 ? "1 tensor" : fmt::format("{} tensors", names.size()),
                             display(of), names.size() == 1 ? "is" : "are", some_names(names)),
                 std::ssize(names)));
  };
  for (const fs::path& rank : ranks_) {
    if (rank == root_) continue;
    RankContents other = look(rank);
    std::ranges::move(other.warnings, std::back_inserter(frame_.warnings));
    keep_wanted(other.tensors);
    say(own, root_, other.tensors, rank);
    say(other.tensors, rank, own, root_);
  }
}

void OpFrame::make_node(int32_t op, std::vector<OpFile>& files) {
  const auto is_before = [](const OpFile& a, const OpFile& b) {
    if (a.port.direction != b.port.direction) return a.port.direction < b.port.direction;
    return natural_less(a.relative, b.relative);
  };
  std::stable_sort(files.begin(), files.end(), is_before);
  Node node;
  const GraphOp& graph_op = frame_.graph->at(op);
  for (OpFile& file : files) {
    const std::string& name = item_name(file);
    if (!selected(name, options_)) continue;
    const auto number = static_cast<int32_t>(frame_.files.size());
    frame_.files.push_back(
        data_file(root_ / (file.described_in.empty() ? file.relative : file.described_in), file.size));
    const bool may_be_compared = file.draft.has_data || file.draft.stats;
    const auto* const shards = may_be_compared ? shards_of(file, number) : nullptr;
    Item item = make_item(frame_, name, number, 0, std::move(file.draft));
    item.port = file.port;
    item.shard_list = shards;
    if (!item.data) item.described_in = number;
    node.items.push_back(item);
  }
  if (node.items.empty()) return;
  node.name = frame_.strings.keep(printable(graph_op.path.empty() ? graph_op.name : graph_op.path));
  node.type = frame_.strings.keep(printable(graph_op.type));
  node.order = std::ssize(frame_.nodes);
  frame_.set_ops(frame_.nodes.size(), {op});
  frame_.nodes.push_back(std::move(node));
}

std::optional<FileEntry> OpFrame::file_on_rank(const fs::path& rank, const std::string& relative) const {
  fs::path file = rank / relative;
  std::error_code missing;
  auto size = fs::file_size(file, missing);
  if (missing) {
    file = statistics_path(file);
    size = fs::file_size(file, missing);
  }
  if (missing) return std::nullopt;
  return data_file(std::move(file), static_cast<int64_t>(size));
}

TensorRef OpFrame::add_row(fs::path table, const TensorDraft& draft) {
  const TensorRef row{static_cast<int32_t>(frame_.files.size()),
                      static_cast<int32_t>(frame_.rank_rows.size())};
  frame_.files.push_back(FileEntry{.path = std::move(table), .size = 0, .is_table = true});
  frame_.rank_rows.push_back({draft.stats.value_or(Stats()), draft.meta, draft.trouble});
  return row;
}

const std::vector<TensorRef>* OpFrame::shards_of(const OpFile& file, int32_t own) {
  if (ranks_.size() < 2 || (file.is_row() && !find_row_)) return nullptr;
  std::vector<TensorRef> shards;
  for (const fs::path& rank : ranks_) {
    if (rank == root_) {
      shards.push_back(file.is_row() ? add_row(rank / file.described_in, file.draft) : TensorRef{own, 0});
      continue;
    }
    if (const TensorDraft* const row = file.is_row() ? find_row_(rank, file) : nullptr) {
      shards.push_back(add_row(rank / file.described_in, *row));
      continue;
    }
    auto found = file_on_rank(rank, file.relative);
    if (!found) continue;
    shards.push_back({static_cast<int32_t>(frame_.files.size()), 0});
    frame_.files.push_back(std::move(*found));
  }
  if (shards.size() < 2) return nullptr;
  return &frame_.shards.emplace_back(std::move(shards));
}

}  // namespace assay
