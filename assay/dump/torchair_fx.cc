#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/dump/glance.h"
#include "assay/dump/items.h"
#include "assay/dump/op_folders.h"
#include "assay/dump/torchair.h"
#include "assay/dump/torchair_names.h"
#include "assay/dump/walk.h"
#include "assay/format/npy_words.h"
#include "assay/model/fx_arguments.h"
#include "assay/model/trace.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

constexpr size_t kLongestToken = 11;  // digits; longer ones are times

int recognise_fx(const fs::path& root) {
  constexpr int kFound = 92;
  bool is_found = false;
  if (is_folder(root))
    glance_below(root, [&](const fs::path&, std::string_view name) {
      const auto parsed = parse_fx_file(name);
      // "add_1-aten.add.Tensor" with a time of microseconds
      is_found = parsed && parsed->key.find('-') != std::string_view::npos && parsed->timestamp.size() == 20;
      return is_found;
    });
  return is_found ? kFound : 0;
}

// ----- where a folder was taken

std::optional<int> token_of(std::string_view folder) {
  return folder.size() <= kLongestToken ? whole_number(folder) : std::nullopt;
}

// …/worldsize{W}_global_rank{R}/graph_{G}/{token}, or …/{token + 1}/gm_{time}_dump
At fx_place_of(const fs::path& folder) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::absolute(folder).lexically_normal().relative_path())
    if (!part.empty()) parts.push_back(part.native());
  const auto from_end = [&](size_t i) {
    return parts.size() >= i ? std::string_view(parts[parts.size() - i]) : std::string_view();
  };
  At at;
  at.token = 0;
  if (from_end(1).starts_with("gm_")) {
    at.part = from_end(1);
    if (const auto counted = token_of(from_end(2))) at.token = std::max(0, *counted - 1);
  } else if (const auto number = token_of(from_end(1))) {
    at.token = *number;
    at.graph = graph_of_folder(from_end(2)).value_or(-1);
  }
  for (const std::string& part : parts)
    if (const auto rank = rank_of_folder(part)) at.rank = *rank;
  return at;
}

// In old versions the folder of a graph lies in that of the token.
bool is_graph_of_token(const FrameInfo& frame) {
  return frame.paths[0].filename().native().starts_with("gm_");
}

// Its folders may have another name at every token; then their place among them counts.
void name_graphs_of_tokens_alike(std::vector<FrameInfo>& frames) {
  std::map<std::string, int> tokens_with;
  for (const FrameInfo& frame : frames)
    if (is_graph_of_token(frame)) ++tokens_with[frame.at.part];
  const bool is_named_alike =
      std::any_of(tokens_with.begin(), tokens_with.end(), [](const auto& each) { return each.second > 1; });
  if (is_named_alike) return;
  std::map<std::pair<int, int>, int> next;  // by rank and token
  for (FrameInfo& frame : frames)
    if (is_graph_of_token(frame))
      frame.at.part = fmt::format("gm {}", ++next[{frame.at.rank, frame.at.token}]);
}

// The folder whose tokens are those of one graph.
fs::path holder_of(const FrameInfo& frame) {
  const fs::path folder = fs::absolute(frame.paths[0]).lexically_normal();
  return token_of(folder.filename().native()) ? folder.parent_path() : folder;
}

// Each folder that holds tokens is a graph of its own, whatever it is called. Where a rank has several
// without numbers their names tell them apart, and where these are the same the way to them.
void tell_graphs_apart(const fs::path& root, std::vector<FrameInfo>& frames) {
  std::map<std::pair<int, int>, std::map<std::string, std::set<fs::path>>> holders;  // by rank, number; name
  for (FrameInfo& frame : frames) {
    if (is_graph_of_token(frame)) continue;
    const fs::path holder = holder_of(frame);
    frame.model = holder.filename().native();
    holders[{frame.at.rank, frame.at.graph}][frame.model].insert(holder);
  }
  const fs::path from = fs::absolute(root).lexically_normal();
  for (FrameInfo& frame : frames) {
    if (is_graph_of_token(frame)) continue;
    const auto& names = holders.at({frame.at.rank, frame.at.graph});
    if (names.at(frame.model).size() > 1)
      frame.at.part = holder_of(frame).lexically_relative(from).native();
    else if (names.size() > 1)
      frame.at.part = frame.model;
  }
}

Result<Survey> survey_fx(const fs::path& root, const OpenOptions& options) {
  ASSAY_TRY(const Walk walk, walk_folder(root));
  struct Found {
    std::set<std::string> keys;
  };
  std::map<std::pair<std::string, int>, Found> folders;  // and the rank in the names of files
  std::unordered_map<std::string, bool> says_rank;       // the folder itself
  std::set<int> ranks;
  for (const FoundFile& file : walk.files) {
    const size_t slash = file.relative.rfind('/') + 1;  // npos + 1 is 0: in the root itself
    const auto parsed = parse_fx_file(std::string_view(file.relative).substr(slash));
    if (!parsed) continue;
    std::string folder = file.relative.substr(0, slash);
    const auto [known, is_new] = says_rank.try_emplace(folder, false);
    if (is_new) known->second = fx_place_of(root / folder).rank >= 0;
    const int rank = known->second ? -1 : parsed->rank;
    folders[{std::move(folder), rank}].keys.emplace(parsed->key);
    ranks.insert(rank);
  }
  std::vector<FrameInfo> frames;
  for (auto& [key, found] : folders) {
    const auto& [relative, rank] = key;
    FrameInfo frame;
    frame.paths = {relative.empty() ? root : root / relative.substr(0, relative.size() - 1)};
    frame.at = fx_place_of(frame.paths[0]);
    if (frame.at.rank < 0 && ranks.size() > 1) frame.at.rank = rank;
    if (!options.ranks.empty() && frame.at.rank >= 0 &&
        std::find(options.ranks.begin(), options.ranks.end(), frame.at.rank) == options.ranks.end())
      continue;
    frame.op_names.assign(found.keys.begin(), found.keys.end());
    frames.push_back(std::move(frame));
  }
  if (frames.empty())
    return fail(ErrorKind::not_found,
                "{}: holds no files {{node}}-{{target}}.INPUT.0.{{time}}.npy of an FX graph{}", display(root),
                folders.empty() ? ", however deep" : " of the rank that is asked for");
  tell_graphs_apart(root, frames);
  std::stable_sort(frames.begin(), frames.end(), [](const FrameInfo& a, const FrameInfo& b) {
    const auto numbers = [](const At& at) { return std::tie(at.rank, at.graph, at.token); };
    if (numbers(a.at) != numbers(b.at)) return numbers(a.at) < numbers(b.at);
    return natural_less(a.at.part, b.at.part);
  });
  name_graphs_of_tokens_alike(frames);
  Survey survey{std::move(frames), troubles_of(walk)};
  std::set<std::string> of_tokens;
  for (const auto& [key, found] : folders) of_tokens.insert(key.first);
  note_strays(root, files_outside(of_tokens, walk), survey.warnings);
  const auto counts = [&](const std::string& folder) { return may_hold_tokens(folder, options.ranks); };
  note_empty_folders(root, empty_folders(walk, counts), survey.warnings);
  return survey;
}

// ----- the tensors of a token

struct FxFile {
  fs::path path;
  int64_t size = 0;
  std::string key, time;
  Port port;
  int part = -1;
  int run = 0;  // of its node, where that ran several times
  std::optional<TensorDraft> tensor = {};
  NpyWords words = NpyWords::no;  // None, texts and lists of them are dumped too
  Remarks warnings = {};
};

std::vector<FxFile> files_of(const fs::path& folder, int rank, Remarks& warnings) {
  // A folder that says its rank holds that of no other.
  const bool has_several_ranks = rank >= 0 && fx_place_of(folder).rank < 0;
  std::vector<FxFile> files;
  std::vector<std::string> misfits;
  for (const fs::path& path : files_that_count(folder, warnings)) {
    const std::string name = path.filename().native();
    const auto parsed = parse_fx_file(name);
    if (!parsed) misfits.push_back(name);
    if (!parsed || (has_several_ranks && parsed->rank >= 0 && parsed->rank != rank)) continue;
    std::error_code ignored;
    const auto size = fs::file_size(path, ignored);
    files.push_back({path, ignored ? 0 : static_cast<int64_t>(size), std::string(parsed->key),
                     std::string(parsed->timestamp), parsed->port, parsed->part, 0});
  }
  note_misfits(folder, misfits, warnings);
  return files;
}

void read_tensors(std::vector<FxFile>& files, const OpenOptions& options) {
  parallel_for(files.size(), [&](size_t i) {
    if (cancelled()) return;
    FxFile& file = files[i];
    auto set = open_tensors(file.path, options.format);
    if (!set) {
      // An argument of the node may be no tensor.
      if (set.error().kind == ErrorKind::unsupported)
        file.words = words_in_npy(file.path, options.format.memory);
      file.tensor.emplace().trouble = set.error().message;
      return;
    }
    file.warnings = set->warnings;
    std::vector<TensorDraft> drafts = draft_tensors(file.path, std::move(*set), options);
    if (drafts.size() == 1)
      file.tensor = std::move(drafts[0]);
    else
      file.tensor.emplace().trouble =
          fmt::format("{}: holds {} tensors where a dump of FX has one", display(file.path), drafts.size());
  });
}

// Files of a node whose place is taken are of its next run. The time alone does not tell: a run need not
// write all its files at the same one. `order` is that of nodes, and of times within a node.
void number_runs(std::vector<FxFile>& files, const std::vector<size_t>& order) {
  using Slot = std::tuple<Direction, int, int>;
  std::set<Slot> taken;
  const FxFile* before = nullptr;
  for (const size_t i : order) {
    FxFile& file = files[i];
    const Slot slot{file.port.direction, file.port.index, file.part};
    const bool is_same_node = before != nullptr && before->key == file.key;
    file.run = is_same_node ? before->run + taken.contains(slot) : 0;
    if (!is_same_node || file.run != before->run) taken.clear();
    taken.insert(slot);
    before = &file;
  }
}

// Nodes in the order in which they ran; inputs before outputs, by number and not by text. A folder may have a
// hundred thousand files: names are compared once per node, and files are not moved about.
std::vector<size_t> execution_order(std::vector<FxFile>& files) {
  std::map<std::string_view, std::string_view> begins;  // of every node: its first time
  for (const FxFile& file : files) {
    const auto [known, is_new] = begins.try_emplace(file.key, file.time);
    if (file.time < known->second) known->second = file.time;
  }
  std::vector<std::pair<std::string_view, std::string_view>> nodes;  // by time, then by name
  for (const auto& [key, time] : begins) nodes.emplace_back(time, key);
  std::sort(nodes.begin(), nodes.end());
  std::unordered_map<std::string_view, size_t> places;
  for (const auto& [time, key] : nodes) places.emplace(key, places.size());
  std::vector<size_t> place, order;
  for (const FxFile& file : files) {
    place.push_back(places.at(file.key));
    order.push_back(order.size());
  }
  const auto in_node = [&](size_t i) {
    const FxFile& file = files[i];
    return std::tie(file.port.direction, file.port.index, file.part, file.path.native());
  };
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    if (place[i] != place[j]) return place[i] < place[j];
    if (files[i].time != files[j].time) return files[i].time < files[j].time;
    return in_node(i) < in_node(j);
  });
  number_runs(files, order);
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    if (place[i] != place[j]) return place[i] < place[j];
    if (files[i].run != files[j].run) return files[i].run < files[j].run;
    return in_node(i) < in_node(j);
  });
  return order;
}

std::string item_name(const FxFile& file, std::string_view node) {
  std::string name = fmt::format(
      "{}.{}.{}", node, file.port.direction == Direction::input ? "INPUT" : "OUTPUT", file.port.index);
  if (file.part >= 0) name += fmt::format(".{}", file.part);
  return name;
}

// The arguments of a node that are no items: those that are no tensors, and those whose files are not there,
// as the numbers of others tell. Every argument has a file, None too.
class MissingArguments {
 public:
  // Of the next file, in the order of numbers within a node, which has this name.
  void meet(const FxFile& file, const std::string& node) {
    if (node_ != node) {
      node_ = node;
      before_.clear();
      next_ = 0;
      next_part_ = 0;
      most_ = kMostGaps;
    }
    if (file.port.direction != Direction::input) return;
    const int part = std::max(0, file.part);
    if (file.port.index < next_) {  // one more tensor of a list
      lose(node, next_ - 1, next_part_, part);
    } else {
      for (; next_ < file.port.index && most_ > 0; ++next_) lose(node, next_, -1, 0);
      if (file.part >= 0) lose(node, file.port.index, 0, part);
    }
    next_ = file.port.index + 1;
    next_part_ = part + 1;
  }
  void leave_out(char why) { before_ += why; }  // the one that was met last
  std::string take() { return std::exchange(before_, {}); }

  void note(const fs::path& folder, Remarks& warnings) const {
    if (count_ == 0) return;
    warnings.push_back(left_out(
        fmt::format(
            "{}: {} not there, as the numbers of others tell; the other arguments are compared where "
            "their place is known: {}",
            display(folder),
            count_ == 1 ? "1 argument of a node is" : fmt::format("{} arguments of nodes are", count_),
            some_names(names_)),
        count_));
  }

 private:
  static constexpr int kMostGaps = 1000;  // numbers are parts of file names, and may be anything

  // An argument, or some tensors of the list that it is.
  void lose(const std::string& node, int index, int first, int last) {
    const int count = first < 0 ? 1 : std::min(last - first, most_);
    for (int i = 0; i < count; ++i) {
      before_ += kLost;
      ++count_;
      --most_;
      if (names_.size() < kMostNames)
        names_.push_back(
            fmt::format("{}.INPUT.{}{}", node, index, first < 0 ? "" : fmt::format(".{}", first + i)));
    }
  }

  static constexpr size_t kMostNames = 4;  // more than are shown
  std::string node_, before_;
  int next_ = 0, next_part_ = 0, most_ = kMostGaps;
  int64_t count_ = 0;
  std::vector<std::string> names_;
};

Result<Frame> index_fx(const FrameInfo& info, const OpenOptions& options) {
  Frame frame;
  frame.at = info.at;
  frame.framework = "fx";
  std::vector<FxFile> files = files_of(info.paths.at(0), info.at.rank, frame.warnings);
  read_tensors(files, options);
  ASSAY_TRY_DO(check_cancelled());
  bool any_data = false;
  std::vector<std::string> lists;
  MissingArguments missing;
  for (const size_t i : execution_order(files)) {
    FxFile& file = files[i];
    std::move(file.warnings.begin(), file.warnings.end(), std::back_inserter(frame.warnings));
    if (file.words == NpyWords::with_numbers) lists.push_back(file.path.filename().native());
    const std::string node_name = file.run == 0 ? file.key : fmt::format("{}#{}", file.key, file.run);
    missing.meet(file, node_name);
    std::string name = item_name(file, node_name);
    if (file.words != NpyWords::no || !selected(name, options)) {
      missing.leave_out(file.words != NpyWords::no ? kNoTensor : kLost);
      continue;
    }
    const std::string printed = printable(node_name);
    if (frame.nodes.empty() || frame.nodes.back().name != printed) {
      Node& node = frame.nodes.emplace_back();
      node.name = frame.strings.keep(printed);
      const size_t dash = file.key.find('-');
      if (dash != std::string::npos) node.type = frame.strings.keep(printable(file.key.substr(dash + 1)));
      node.order = std::ssize(frame.nodes) - 1;
    }
    any_data |= file.tensor->has_data;
    if (std::string before = missing.take(); !before.empty())
      file.tensor->facts.push_back({std::string(kArgumentsBefore), std::move(before)});
    const auto number = static_cast<int32_t>(frame.files.size());
    frame.files.push_back(data_file(file.path, file.size));
    Item item = make_item(frame, std::move(name), number, 0, std::move(*file.tensor));
    item.port = file.port;
    if (!item.data) item.described_in = number;
    frame.nodes.back().items.push_back(item);
  }
  if (!lists.empty())
    frame.warnings.push_back(
        left_out(fmt::format("{}: {} of numbers and None {} not compared: {}", display(info.paths[0]),
                             lists.size() == 1 ? "1 list" : fmt::format("{} lists", lists.size()),
                             lists.size() == 1 ? "is" : "are", some_names(lists)),
                 std::ssize(lists)));
  missing.note(info.paths[0], frame.warnings);
  if (!any_data) frame.content = Content::statistics;
  TraceBuilder(frame, [](const Node& node) { return kind_of_fx(node.type); }).finish();
  return frame;
}

}  // namespace

const Layout torchair_fx_layout = {"torchair_fx", recognise_fx, survey_fx, index_fx, true};

}  // namespace assay
