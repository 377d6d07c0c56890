#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/dump/ge_stats_csv.h"
#include "assay/dump/glance.h"
#include "assay/dump/items.h"
#include "assay/dump/op_folders.h"
#include "assay/dump/torchair.h"
#include "assay/dump/torchair_graphs.h"
#include "assay/dump/torchair_names.h"
#include "assay/dump/walk.h"
#include "assay/model/blocks.h"
#include "assay/model/origins.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace assay {
namespace {

bool is_long_name(std::string_view name) {  // stands in mapping.csv
  const std::string_view digits = name.substr(0, name.find_first_not_of("0123456789"));
  return digits.size() >= 8 && digits == source_of(name).name;
}

int recognise_ge(const fs::path& root) {
  constexpr int kGraph = 93, kFiles = 88;
  if (!is_folder(root)) return 0;
  bool has_graph = false, has_files = false;
  glance_below(root, [&](const fs::path& folder, std::string_view name) {
    has_graph = parse_graph_file(name).has_value();
    if (has_graph || has_files) return has_graph;
    const bool is_token = folder == root || whole_number(folder.filename().native()).has_value();
    const auto parsed = is_token ? parse_ge_file(name) : std::nullopt;
    // A time of microseconds, so that not any name with dots and numbers will do.
    has_files = parsed && parsed->timestamp.size() == 16;
    return false;
  });
  return has_graph ? kGraph : has_files ? kFiles : 0;
}

// ----- where a folder of files was taken

struct GeFolderPlace {
  int rank = -1, device = -1, model_id = 0, token = 0;
  std::string model;
};

// …/worldsize{W}_global_rank{R}/{time}/{device}/{model}/{model id}/{token}: the user may name any of these,
// so the whole path counts.
GeFolderPlace ge_place_of(const fs::path& folder) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::absolute(folder).lexically_normal().relative_path())
    if (!part.empty()) parts.push_back(part.native());
  const auto from_end = [&](size_t i) {
    return parts.size() >= i ? std::string_view(parts[parts.size() - i]) : std::string_view();
  };
  GeFolderPlace place;
  place.token = whole_number(from_end(1)).value_or(0);
  place.model_id = whole_number(from_end(2)).value_or(0);
  if (is_time_folder(from_end(5))) {
    place.model = from_end(3);
    place.device = whole_number(from_end(4)).value_or(-1);
  }
  for (const std::string& part : parts)
    if (const auto rank = rank_of_folder(part)) place.rank = *rank;
  return place;
}

struct TokenFolder {
  std::string relative;  // below the root, with '/' behind; empty: the root
  fs::path path;
  GeFolderPlace place;
  std::vector<std::string> op_names;
};

std::vector<TokenFolder> token_folders(const fs::path& root, const Walk& walk) {
  std::map<std::string, std::vector<std::string>> names;  // by folder
  for (const FoundFile& file : walk.files) {
    const size_t slash = file.relative.rfind('/') + 1;  // npos + 1 is 0: in the root itself
    const std::string_view name = std::string_view(file.relative).substr(slash);
    const auto parsed = parse_ge_file(name);
    if (parsed)
      names[file.relative.substr(0, slash)].emplace_back(parsed->op_name);
    else if (is_long_name(name))
      names[file.relative.substr(0, slash)];
  }
  std::vector<TokenFolder> folders;
  for (auto& [relative, ops] : names) {
    fs::path path = relative.empty() ? root : root / relative.substr(0, relative.size() - 1);
    GeFolderPlace place = ge_place_of(path);
    folders.push_back({relative, std::move(path), std::move(place), std::move(ops)});
  }
  std::stable_sort(folders.begin(), folders.end(), [](const TokenFolder& a, const TokenFolder& b) {
    return natural_less(a.path.native(), b.path.native());
  });
  // Versions that have no folders of ranks have several devices in one.
  std::set<int> devices;
  for (const TokenFolder& folder : folders)
    if (folder.place.rank < 0) devices.insert(folder.place.device);
  if (devices.size() > 1)
    for (TokenFolder& folder : folders)
      if (folder.place.rank < 0) folder.place.rank = folder.place.device;
  return folders;
}

using ModelKey = std::tuple<int, int, std::string>;  // rank, model id, model

std::map<ModelKey, CompiledModel> models_of(const std::vector<TokenFolder>& folders,
                                            const std::vector<GraphFile>& graphs) {
  std::map<ModelKey, CompiledModel> models;
  for (const TokenFolder& folder : folders) {
    CompiledModel& model = models[{folder.place.rank, folder.place.model_id, folder.place.model}];
    model.name = folder.place.model;
    model.op_names.insert(folder.op_names.begin(), folder.op_names.end());
  }
  std::map<int, std::vector<CompiledModel*>> by_rank;
  for (auto& [key, model] : models) by_rank[std::get<0>(key)].push_back(&model);
  for (auto& [rank, of_rank] : by_rank) {
    std::vector<const GraphFile*> fitting;
    for (const GraphFile& graph : graphs)
      if (graph.rank == rank) fitting.push_back(&graph);
    if (fitting.empty() && (rank < 0 || by_rank.size() == 1))
      for (const GraphFile& graph : graphs) fitting.push_back(&graph);
    assign_graphs(of_rank, fitting);
  }
  return models;
}

Result<Survey> survey_ge(const fs::path& root, const OpenOptions& options) {
  ASSAY_TRY(const Walk walk, walk_folder(root));
  std::vector<std::string> texts;
  for (const FoundFile& file : walk.files)
    if (file.relative.ends_with(".txt")) texts.push_back(file.relative);
  const std::vector<TokenFolder> folders = token_folders(root, walk);
  if (folders.empty())
    return fail(
        ErrorKind::not_found,
        "{}: holds no files {{type}}.{{name}}.{{task}}.{{stream}}.{{time}} of the graph engine, however "
        "deep",
        display(root));
  const std::vector<GraphFile> graphs = find_graphs(root, texts, options.format.memory);
  const std::map<ModelKey, CompiledModel> models = models_of(folders, graphs);
  // Whether the number of its graph is enough to tell a model from the others.
  std::map<std::pair<int, int>, int> uses;
  const auto number_of = [](const CompiledModel& model) {
    return model.graph != nullptr ? model.graph->graph : graph_of_folder(model.name).value_or(-1);
  };
  for (const auto& [key, model] : models) ++uses[{std::get<0>(key), number_of(model)}];
  std::map<std::tuple<ModelKey, int>, FrameInfo> frames;
  for (const TokenFolder& folder : folders) {
    const ModelKey key{folder.place.rank, folder.place.model_id, folder.place.model};
    if (!options.ranks.empty() && folder.place.rank >= 0 &&
        std::find(options.ranks.begin(), options.ranks.end(), folder.place.rank) == options.ranks.end())
      continue;
    const CompiledModel& model = models.at(key);
    FrameInfo& frame = frames[{key, folder.place.token}];
    frame.at.rank = folder.place.rank;
    frame.at.graph = number_of(model);
    frame.at.token = folder.place.token;
    frame.model = folder.place.model;
    if (uses[{folder.place.rank, frame.at.graph}] > 1)
      frame.at.part = fmt::format("model {}", folder.place.model_id);
    if (model.graph != nullptr) frame.graph = model.graph->content;
    frame.op_names.insert(frame.op_names.end(), folder.op_names.begin(), folder.op_names.end());
    frame.paths.push_back(folder.path);
  }
  if (frames.empty())
    return fail(ErrorKind::not_found, "{}: has no data of the rank that is asked for", display(root));
  Survey survey{{}, troubles_of(walk)};
  std::set<std::string> of_tokens;
  for (const TokenFolder& folder : folders) of_tokens.insert(folder.relative);
  note_strays(root, files_outside(of_tokens, walk), survey.warnings);
  const auto counts = [&](const std::string& folder) { return may_hold_tokens(folder, options.ranks); };
  note_empty_folders(root, empty_folders(walk, counts), survey.warnings);
  for (auto& [key, frame] : frames) survey.frames.push_back(std::move(frame));
  return survey;
}

// ----- the tensors of a token

struct GeFile {
  fs::path path;
  int64_t size = 0;
  std::string type, name, time;
  std::vector<int32_t> origins;  // operators of the graph
  std::vector<TensorDraft> tensors;
  Remarks warnings;
  std::string trouble;
};

// As mapping.csv has it, also for what stands in the place of a file that is listed there.
std::string long_name_of(const std::string& name, const std::unordered_map<std::string, std::string>& known) {
  if (const auto listed = known.find(name); listed != known.end()) return listed->second;
  const std::string_view source = source_of(name).name;
  const auto listed = known.find(std::string(source));
  return listed == known.end() ? name : listed->second + name.substr(source.size());
}

std::vector<GeFile> files_of(const std::vector<fs::path>& folders, Remarks& warnings) {
  std::vector<GeFile> files;
  for (const fs::path& folder : folders) {
    const auto long_names = read_long_names(folder, warnings);
    std::vector<std::string> misfits;
    for (const fs::path& path : files_that_count(folder, warnings)) {
      const std::string own = path.filename().native(), name = long_name_of(own, long_names);
      const auto parsed = parse_ge_file(name);
      if (!parsed && !is_long_name(own)) {
        misfits.push_back(own);
        continue;
      }
      std::error_code ignored;
      const auto size = fs::file_size(path, ignored);
      GeFile& file = files.emplace_back();
      file.path = path;
      file.size = ignored ? 0 : static_cast<int64_t>(size);
      if (!parsed) continue;  // its header may know
      file.type = parsed->op_type;
      file.name = parsed->op_name;
      file.time = parsed->timestamp;
    }
    note_misfits(folder, misfits, warnings);
  }
  std::sort(files.begin(), files.end(),
            [](const GeFile& a, const GeFile& b) { return a.path.native() < b.path.native(); });
  return files;
}

// Its statistics run over what is stored. Blocks are filled with zeros: then the mean is too small, and a
// zero may not be one of the tensor's elements.
void leave_out_padding(TensorDraft& tensor) {
  if (!is_blocked_format(tensor.facts)) return;
  if (!tensor.stats) return;
  tensor.stats->mean = {};
  for (Value* const extreme : {&tensor.stats->max, &tensor.stats->min}) {
    const auto* const real = std::get_if<double>(extreme);
    const auto* const whole = std::get_if<int64_t>(extreme);
    if ((real != nullptr && *real == 0) || (whole != nullptr && *whole == 0)) *extreme = {};
  }
}

// What the engine wrote in the place of tensors.
void read_statistics(GeFile& file) {
  auto rows = read_ge_stats_csv(file.path, file.warnings);
  if (!rows) {
    file.trouble = rows.error().message;
    return;
  }
  for (GeStatedTensor& tensor : *rows) {
    leave_out_padding(tensor.draft);
    file.tensors.push_back(std::move(tensor.draft));
  }
}

void read_tensors(std::vector<GeFile>& files, const OpenOptions& options) {
  parallel_for(files.size(), [&](size_t i) {
    if (cancelled()) return;
    if (files[i].path.extension() == ".csv") return read_statistics(files[i]);
    auto set = open_tensors(files[i].path, options.format);
    if (!set) {
      files[i].trouble = set.error().message;
      return;
    }
    files[i].warnings = set->warnings;
    files[i].tensors = draft_tensors(files[i].path, std::move(*set), options);
  });
}

std::string name_in_header(const GeFile& file) {
  if (file.tensors.empty()) return {};
  for (const Fact& fact : file.tensors[0].facts) {
    const auto* const text = std::get_if<std::string>(&fact.value);
    if (text == nullptr || fact.key != "op_name") continue;
    std::string name = *text;
    for (char& c : name)  // as the engine writes names of files
      if (c == '.' || c == '/' || c == '\\' || c == ' ') c = '_';
    return name;
  }
  return {};
}

// Names of digits that mapping.csv does not list: such a file says itself which operator it is of. The type
// and the time, which stand in names of files only, stay unknown.
void name_by_headers(std::vector<GeFile>& files, Remarks& warnings) {
  size_t unlisted = 0, unknown = 0;
  const GeFile* first = nullptr;
  for (GeFile& file : files) {
    if (!file.name.empty()) continue;
    if (first == nullptr) first = &file;
    ++unlisted;
    file.name = name_in_header(file);
    if (!file.name.empty()) continue;
    ++unknown;
    file.name = file.path.filename().native();
  }
  if (unlisted == 0) return;
  warnings.push_back(
      fmt::format("{}{}: mapping.csv does not say which operator this is; {}", display(first->path),
                  unlisted == 1 ? "" : fmt::format(" and {} more", unlisted - 1),
                  unknown == 0 ? "taken from the file itself"
                               : fmt::format("{} of {} files do not say either", unknown, unlisted)));
}

// Runs of one operator in one token: the largest file first, since it is the one that counts.
void mark_repeats(std::vector<GeFile>& files, Remarks& warnings) {
  std::map<std::string, std::vector<GeFile*>> by_name;
  for (GeFile& file : files) by_name[file.name].push_back(&file);
  for (auto& [name, runs] : by_name) {
    if (runs.size() < 2) continue;
    std::stable_sort(runs.begin(), runs.end(),
                     [](const GeFile* a, const GeFile* b) { return a->size > b->size; });
    warnings.push_back(fmt::format("{} files are of operator {}; the largest one counts, {}", runs.size(),
                                   printable(name), display(runs[0]->path)));
    for (size_t i = 1; i < runs.size(); ++i) runs[i]->name += fmt::format("#{}", i);
  }
}

// That of the graph: names of files have the time at which they were written, which need not be that at which
// operators ran.
std::vector<size_t> execution_order(const std::vector<GeFile>& files, const Graph* graph) {
  std::vector<size_t> by_time(files.size());
  for (size_t i = 0; i < by_time.size(); ++i) by_time[i] = i;
  std::stable_sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
    if (files[a].time.size() != files[b].time.size()) return files[a].time.size() < files[b].time.size();
    return files[a].time < files[b].time;
  });
  if (graph == nullptr) return by_time;
  // What the graph does not know stands behind what ran before it.
  struct Key {
    int32_t position;
    size_t in_time;
    size_t file;
  };
  std::vector<Key> keys;
  int32_t latest = -1;
  for (size_t t = 0; t < by_time.size(); ++t) {
    if (const auto position = place_of(*graph, files[by_time[t]].origins)) latest = *position;
    keys.push_back({latest, t, by_time[t]});
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.position, a.in_time) < std::tie(b.position, b.in_time);
  });
  std::vector<size_t> order;
  for (const Key& key : keys) order.push_back(key.file);
  return order;
}

Port ge_port_of(std::string_view name) {  // "output.3"
  Port port;
  if (name.starts_with("input.")) port.direction = Direction::input;
  if (name.starts_with("output.")) port.direction = Direction::output;
  port.index = whole_number(name.substr(name.find('.') + 1)).value_or(0);
  return port;
}

void add_node(Frame& frame, GeFile& file, const OpenOptions& options) {
  const auto number = static_cast<int32_t>(frame.files.size());
  if (file.tensors.empty()) {
    TensorDraft unreadable;
    unreadable.trouble =
        file.trouble.empty() ? fmt::format("{}: holds no tensor", display(file.path)) : file.trouble;
    file.tensors.push_back(std::move(unreadable));
  }
  Node node;
  for (size_t slot = 0; slot < file.tensors.size(); ++slot) {
    TensorDraft& draft = file.tensors[slot];
    std::string name = draft.name.empty() ? file.name : fmt::format("{}.{}", file.name, draft.name);
    if (!selected(name, options)) continue;
    const Port port = ge_port_of(draft.name);
    Item item = make_item(frame, std::move(name), number, static_cast<int32_t>(slot), std::move(draft));
    item.port = port;
    if (!item.data) item.described_in = number;
    node.items.push_back(item);
  }
  if (node.items.empty()) return;
  frame.files.push_back(data_file(file.path, file.size));
  node.name = frame.strings.keep(printable(file.name));
  node.type = frame.strings.keep(printable(file.type));
  node.order = std::ssize(frame.nodes);
  frame.set_ops(frame.nodes.size(), std::move(file.origins));
  frame.nodes.push_back(std::move(node));
}

Result<Frame> index_ge(const FrameInfo& info, const OpenOptions& options) {
  Frame frame;
  frame.at = info.at;
  frame.framework = "ge";
  frame.graph = info.graph;
  std::vector<GeFile> files = files_of(info.paths, frame.warnings);
  read_tensors(files, options);
  ASSAY_TRY_DO(check_cancelled());
  name_by_headers(files, frame.warnings);
  mark_repeats(files, frame.warnings);
  if (frame.graph != nullptr)
    for (GeFile& file : files) file.origins = origins_of(*frame.graph, file.name);
  bool any_data = false;
  for (const size_t i : execution_order(files, frame.graph.get())) {
    GeFile& file = files[i];
    std::move(file.warnings.begin(), file.warnings.end(), std::back_inserter(frame.warnings));
    any_data |= std::any_of(file.tensors.begin(), file.tensors.end(),
                            [](const TensorDraft& tensor) { return tensor.has_data; });
    add_node(frame, file, options);
  }
  if (!any_data) frame.content = Content::statistics;
  return frame;
}

}  // namespace

const Layout torchair_ge_layout = {"torchair_ge", recognise_ge, survey_ge, index_ge, true};

}  // namespace assay
