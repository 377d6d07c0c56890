#include "assay/dump/torch_hook.h"

#include "assay/base/text.h"
#include "assay/dump/torch_hook_table.h"
#include "assay/dump/walk.h"
#include "assay/model/graph.h"
#include "assay/support/json_tape.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kTree = "model_tree.json";
constexpr std::string_view kWeights = "weights";

struct HookDumpPlace {
  std::vector<fs::path> ranks;  // folders with a model_tree.json
  fs::path token;               // the only one that is meant; empty: all
};

std::vector<fs::path> torch_ranks_in(const fs::path& folder) {
  std::vector<fs::path> ranks = folders_in(folder);
  std::erase_if(ranks, [](const fs::path& rank) { return !is_file(rank / kTree); });
  return ranks;
}

bool is_hook_dump(const fs::path& path) {
  const std::string name = path.filename().native();
  return name.starts_with("msit_dump") || name.starts_with("ait_dump");
}

HookDumpPlace locate(const fs::path& root) {
  if (!is_folder(root)) return {};
  if (is_file(root / kTree)) return {{root}, {}};
  const fs::path whole = fs::absolute(root).lexically_normal();
  const fs::path folder = whole.has_filename() ? whole : whole.parent_path();
  if (folder.filename() == kWeights) return {};  // a plain folder of files, as a checkpoint is
  if (is_file(folder.parent_path() / kTree)) return {{folder.parent_path()}, folder};
  for (const fs::path& candidate : {root, root / "torch_tensors"})
    if (auto ranks = torch_ranks_in(candidate); !ranks.empty()) return {std::move(ranks), {}};
  std::vector<fs::path> dumps = folders_in(root);
  std::erase_if(
      dumps, [](const fs::path& dump) { return !is_hook_dump(dump) || !is_folder(dump / "torch_tensors"); });
  if (dumps.size() == 1) return {torch_ranks_in(dumps[0] / "torch_tensors"), {}};
  return {};
}

int recognise_torch_hook(const fs::path& root) { return locate(root).ranks.empty() ? 0 : 92; }

void note_outside_of_modules(const fs::path& root, const HookDumpPlace& place, Remarks& warnings) {
  OwnFolders own;
  for (const fs::path& rank : place.ranks)
    for (const fs::path& token : folders_in(rank))
      if (token.filename() == kWeights)
        own.add_files(token);
      else if (place.token.empty() || token.filename() == place.token.filename())
        for (const fs::path& module : folders_in(token)) own.add_files(module);
  note_strays(root, files_outside(own, root, warnings), warnings);
}

// "cpu_4001", "cuda3_77", "0_4001"
bool is_torch_rank_folder(std::string_view name) {
  const size_t mark = name.find('_');
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0; };
  return mark != std::string_view::npos && mark > 0 && std::ranges::all_of(name.substr(0, mark), is_word) &&
         whole_number(name.substr(mark + 1));
}

Result<std::string> read_text(const fs::path& path, int64_t memory) {
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > memory)
    return fail(ErrorKind::limit, "{}: takes {}, more than the {} allowed", file->name(),
                format_size(file->size()), format_size(memory));
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

// {"name": …, "type": …, "children": […]}, however deep. Null where there is none.
Result<std::shared_ptr<const Graph>> read_tree(const fs::path& path, int64_t memory, Remarks& warnings) {
  ASSAY_TRY(const std::string text, read_text(path, memory));
  ASSAY_TRY(const JsonTape tape, parse_json_text(text, display(path)));
  if (tape.too_deep())
    warnings.push_back(
        fmt::format("{}: is nested too deep; its innermost modules are missing", display(path)));
  struct Waiting {
    size_t place;
    int32_t parent;
  };
  auto graph = std::make_shared<Graph>();
  std::vector<Waiting> waiting = {{0, -1}};
  while (!waiting.empty()) {
    const Waiting next = waiting.back();
    waiting.pop_back();
    if (tape.kind(next.place) != JsonKind::object) continue;
    const size_t name = tape.find(next.place, "name"), type = tape.find(next.place, "type");
    if (name == 0 || !tape.is_text(name))
      return fail(ErrorKind::bad_format, "{}: a module has no name", display(path));
    GraphOp op;
    op.name = op.path = graph->strings.keep(tape.text(name));
    if (type != 0 && tape.is_text(type)) op.type = graph->strings.keep(tape.text(type));
    op.kind = kind_of_module(op.type);
    op.parent = next.parent;
    const int32_t place = graph->add(std::move(op));
    const size_t children = tape.find(next.place, "children");
    if (children == 0 || tape.kind(children) != JsonKind::array) continue;
    std::vector<Waiting> below;
    for (size_t at = tape.first(children); !tape.is_end(at); at = tape.next(at)) below.push_back({at, place});
    waiting.insert(waiting.end(), below.rbegin(), below.rend());
  }
  if (graph->ops.empty()) return nullptr;
  graph->connect_by_names();
  return graph;
}

// Read once: all tokens of a rank ran the same model.
std::shared_ptr<const Graph> tree_of_rank(const fs::path& rank, int64_t memory, Remarks& warnings) {
  auto tree = read_tree(rank / kTree, memory, warnings);
  if (tree) return std::move(*tree);
  warnings.push_back(tree.error().message + "; modules are told apart by their names alone");
  return nullptr;
}

Result<Survey> survey_torch_hook(const fs::path& root, const OpenOptions& options) {
  const HookDumpPlace place = locate(root);
  if (place.ranks.empty())
    return fail(ErrorKind::not_found,
                "{}: has no {}; point at torch_tensors or at a folder {{device}}_{{pid}} in it",
                display(root), kTree);
  const std::vector<int> numbers = rank_numbers(place.ranks);
  std::vector<FrameInfo> frames;
  Remarks warnings;
  for (size_t i = 0; i < place.ranks.size(); ++i) {
    if (!options.ranks.empty() &&
        std::find(options.ranks.begin(), options.ranks.end(), numbers[i]) == options.ranks.end())
      continue;
    const std::shared_ptr<const Graph> tree = tree_of_rank(place.ranks[i], options.format.memory, warnings);
    const fs::path weights = place.ranks[i] / kWeights;
    bool with_weights = place.token.empty() && is_folder(weights);
    const size_t before = frames.size();
    for (const fs::path& token : folders_in(place.ranks[i])) {
      const std::string name = token.filename().native();
      if (name == kWeights || (!place.token.empty() && name != place.token.filename().native())) continue;
      FrameInfo frame;
      if (place.ranks.size() > 1) frame.at.rank = numbers[i];
      if (const auto number = whole_number(name))
        frame.at.token = *number;
      else
        frame.at.part = printable(name);
      frame.paths = {token};
      frame.graph = tree;
      // They are the same for all tokens: once is enough.
      if (std::exchange(with_weights, false)) frame.paths.push_back(weights);
      frames.push_back(std::move(frame));
    }
    if (frames.size() == before)
      warnings.push_back(left_out(fmt::format("{}: holds no folder of a token: there is nothing to compare",
                                              display(place.ranks[i]))));
  }
  if (frames.empty())
    return fail(ErrorKind::not_found, "{}: holds no folder of a token", display(place.ranks[0]));
  Survey survey{std::move(frames), std::move(warnings)};
  note_outside_of_modules(root, place, survey.warnings);
  note_empty_folders(root, empty_ranks(root, place.ranks, options, is_torch_rank_folder), survey.warnings);
  return survey;
}

std::optional<Port> port_of(std::string_view file) {
  if (!file.ends_with(".pth") && !file.ends_with(".pt")) return std::nullopt;
  return hook_port_of(file);
}

// The rows of the table that no file stands for: where a module has both, the files say more.
void add_stated(std::vector<OpFile>& files, const fs::path& table, const std::string& module,
                Remarks& warnings) {
  auto stated = read_hook_table(table, module, warnings);
  if (!stated) {
    warnings.push_back(unreadable(stated.error().message));
    return;
  }
  const size_t read = files.size();
  for (OpFile& row : *stated) {
    const auto is_same = [&](const OpFile& file) {
      return file.port.direction == row.port.direction && file.port.index == row.port.index &&
             (row.port.index != kNamedHookPort || file.relative.starts_with(row.relative + "."));
    };
    const auto end = files.begin() + static_cast<std::ptrdiff_t>(read);
    if (std::none_of(files.begin(), end, is_same)) files.push_back(std::move(row));
  }
}

// What is left of a file after compaction.
void read_compacted(OpFile& file, const std::string& module, const fs::path& path, int64_t memory) {
  file.described_in = module + "/" + path.filename().native();
  FormatOptions options;
  options.memory = memory;
  auto set = open_tensors(path, options);
  if (set && set->tensors.size() == 1)
    file.draft = std::move(draft_tensors(path, std::move(*set), {})[0]);
  else
    file.draft.trouble =
        set ? fmt::format("{}: holds {} tensors where a module has one", display(path), set->tensors.size())
            : set.error().message;
}

// What the files of a module hold, and its table beside them.
struct ModuleFiles {
  std::string name;
  std::vector<OpFile> files = {};
};

ModuleFiles read_module(const fs::path& token, const fs::path& folder, int64_t memory, Remarks& warnings) {
  ModuleFiles out{.name = folder.lexically_relative(token).native()};
  const std::string& module = out.name;
  std::vector<OpFile>& files = out.files;
  std::vector<std::string> misfits;
  for (const FoundFile& found : list_files(folder, warnings)) {
    const auto port = port_of(found.relative);
    if (!port) {
      misfits.push_back(found.relative);
      continue;
    }
    OpFile file;
    file.relative = module + "/" + found.relative;
    file.port = *port;
    file.size = found.size;
    if (found.is_statistics)
      read_compacted(file, module, path_of(folder, found), memory);
    else
      file.draft.has_data = true;
    files.push_back(std::move(file));
  }
  note_misfits(folder, misfits, warnings);
  for (const std::string_view table : {kHookStatistics, kMoreHookStatistics})
    if (is_there(folder / table)) add_stated(files, folder / table, module, warnings);
  return out;
}

// "weights/root.fc.weight.pth" is a parameter of root.fc.
struct WeightFile {
  std::string module;
  OpFile file;
};

std::vector<WeightFile> read_weights(const fs::path& folder, int64_t memory, Remarks& warnings) {
  std::vector<WeightFile> weights;
  std::vector<std::string> misfits;
  for (const FoundFile& found : list_files(folder, warnings)) {
    const std::string& name = found.relative;
    if (!name.ends_with(".pth") && !name.ends_with(".pt")) {
      misfits.push_back(name);
      continue;
    }
    const std::string parameter = fs::path(name).stem().native();
    const size_t dot = parameter.rfind('.');
    OpFile file;
    file.name = fmt::format("{}/{}", kWeights, printable(name));
    file.relative = fmt::format("../{}/{}", kWeights, name);
    const std::string kind = dot == std::string::npos ? parameter : parameter.substr(dot + 1);
    file.port = {Direction::parameter, kind == "weight" ? kWeightPort : kind == "bias" ? kBiasPort : 2};
    file.size = found.size;
    if (found.is_statistics)
      read_compacted(file, fmt::format("../{}", kWeights), path_of(folder, found), memory);
    else
      file.draft.has_data = true;
    weights.push_back({dot == std::string::npos ? parameter : parameter.substr(0, dot), std::move(file)});
  }
  note_misfits(folder, misfits, warnings);
  return weights;
}

// A rank that another one stands for.
RankContents look_at_rank(const fs::path& token, bool with_weights, int64_t memory) {
  RankContents rank;
  for (const fs::path& folder : folders_in(token))
    for (const OpFile& file : read_module(token, folder, memory, rank.warnings).files)
      rank.tensors.insert(item_name(file));
  if (const fs::path weights = token.parent_path() / kWeights; with_weights && is_folder(weights))
    for (const WeightFile& weight : read_weights(weights, memory, rank.warnings))
      rank.tensors.insert(item_name(weight.file));
  return rank;
}

// What other ranks say of the tensors of a module, whose tables have few rows; each is read once.
class RowFinder {
 public:
  const TensorDraft* operator()(const fs::path& token, const OpFile& file) {
    const auto [known, is_new] = rows_.try_emplace((token / file.described_in).native());
    if (is_new) {
      Remarks ignored;  // those of other ranks are looked at by themselves
      const std::string module = file.relative.substr(0, file.relative.rfind('/'));
      if (auto read = read_hook_table(token / file.described_in, module, ignored))
        for (OpFile& row : *read)
          known->second.emplace(std::pair(row.relative, row.row), std::move(row.draft));
    }
    const auto found = known->second.find(std::pair(file.relative, file.row));
    return found == known->second.end() ? nullptr : &found->second;
  }

 private:
  // By table, then by the name of the tensor and which of that name it is.
  std::unordered_map<std::string, std::map<std::pair<std::string, int32_t>, TensorDraft>> rows_;
};

std::string_view above_module(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

Result<Frame> index_torch_hook(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& token = info.paths[0];
  const fs::path rank = token.parent_path();
  Frame frame;
  frame.at = info.at;
  frame.framework = "pytorch";
  frame.graph = info.graph;
  std::vector<fs::path> ranks;
  for (const fs::path& each : torch_ranks_in(rank.parent_path())) ranks.push_back(each / token.filename());
  OpFrame out(frame, options, token, std::move(ranks));
  const int64_t memory = options.format.memory;
  const bool with_weights = info.paths.size() > 1;
  RankTensors own;
  bool any_file = false;
  for (const fs::path& folder : folders_in(token)) {
    ModuleFiles module = read_module(token, folder, memory, frame.warnings);
    any_file |= !module.files.empty();
    for (const OpFile& file : module.files) own.insert(item_name(file));
    if (!module.files.empty()) out.add(std::move(module.name), std::move(module.files));
  }
  if (with_weights)
    for (WeightFile& weight : read_weights(info.paths[1], memory, frame.warnings)) {
      own.insert(item_name(weight.file));
      std::vector<OpFile> one;
      one.push_back(std::move(weight.file));
      out.add(std::move(weight.module), std::move(one));
    }
  if (info.stands_for_ranks) out.read_rows_of_ranks(RowFinder());
  out.finish(above_module);
  if (info.stands_for_ranks)
    out.note_other_ranks(std::move(own),
                         [&](const fs::path& other) { return look_at_rank(other, with_weights, memory); });
  const auto has_data = [](const Node& node) {
    return std::any_of(node.items.begin(), node.items.end(), [](const Item& item) {
      return item.data.has_value() && item.port.direction != Direction::parameter;
    });
  };
  if (!frame.nodes.empty() && std::none_of(frame.nodes.begin(), frame.nodes.end(), has_data))
    frame.content = Content::statistics;
  if (!any_file && is_empty_tree(token))
    frame.warnings.push_back(
        left_out(fmt::format("{}: holds no tensors: there is nothing to compare", display(token))));
  else if (frame.nodes.empty())
    frame.warnings.push_back(
        fmt::format("{}: holds no tensors of modules, or none that are wanted", display(token)));
  return frame;
}

}  // namespace

const Layout torch_hook_layout = {
    "torch_hook", recognise_torch_hook, survey_torch_hook, index_torch_hook, true, true};

}  // namespace assay
