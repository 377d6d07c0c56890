#include "assay/dump/torchair_graphs.h"

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/dump/torchair_names.h"
#include "assay/graph/ge_graph_file.h"
#include "assay/model/origins.h"
#include "assay/support/log.h"

#include <algorithm>
#include <set>
#include <span>

namespace assay {
namespace {

// A part of a dump may be what the user named; the graphs lie at its top.
constexpr int kMostFoldersUp = 7;

bool is_engine_graph(std::string_view name) {
  return name.starts_with("ge_proto_") && name.ends_with(".txt");
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

// Of the many that the engine writes, one after each pass, the last ones name what was fused.
std::vector<fs::path> last_passes(std::vector<fs::path> files) {
  std::stable_sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().native(), b.filename().native());
  });
  std::vector<fs::path> built = files;
  std::erase_if(built, [](const fs::path& path) {
    return path.filename().native().find("Build") == std::string::npos;
  });
  if (built.empty() && !files.empty()) built.push_back(files.back());
  return built;
}

bool holds_all(const Graph& graph, const std::vector<std::string_view>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](std::string_view name) { return graph.find(name) >= 0; });
}

// Graphs of compiled models are large, and few of those behind TorchAir's own optimisation tell of fusion.
bool mentions(const fs::path& path, std::string_view word) {
  const auto file = File::open(path);
  if (!file) return true;  // whoever reads it will say what is wrong
  constexpr size_t kBlock = size_t{1} << 20;
  std::string block(kBlock + word.size(), '\0');
  for (int64_t offset = 0;; offset += int64_t{kBlock}) {
    const auto bytes = (*file)->read_some(offset, std::as_writable_bytes(std::span(block)));
    if (!bytes) return true;
    const auto length = static_cast<size_t>(*bytes);
    if (std::string_view(block).substr(0, length).find(word) != std::string_view::npos) return true;
    if (length < block.size()) return false;
  }
}

// What a graph that was written later says of fusion.
struct LaterGraph {
  GraphFileName of = {};  // -1: its file does not tell
  Graph graph = {};       // its name and what was fused, no more
};

void read_later_graph(const fs::path& path, GraphFileName of, int64_t memory,
                      std::vector<LaterGraph>& later) {
  if (!mentions(path, "_datadump_original_op_names")) return;
  auto graph = read_ge_graph(path, memory);
  if (!graph) {
    log::warn("{}; what it says of fused operators is not used", graph.error().message);
    return;
  }
  LaterGraph& found = later.emplace_back(LaterGraph{of});
  found.graph.name = std::move(graph->name);
  for (const GraphOp& op : graph->ops)
    if (op.fused_from.size() > 1) found.graph.add_fused(op);
}

std::vector<LaterGraph> later_graphs(const std::vector<fs::path>& candidates, int64_t memory) {
  std::vector<LaterGraph> later;
  std::vector<fs::path> of_engine;
  for (const fs::path& path : candidates) {
    const std::string name = path.filename().native();
    if (is_engine_graph(name)) of_engine.push_back(path);
    if (const auto of = parse_graph_file(name, "optimized")) read_later_graph(path, *of, memory, later);
  }
  for (const fs::path& path : last_passes(std::move(of_engine))) read_later_graph(path, {}, memory, later);
  return later;
}

bool may_be_of(const LaterGraph& later, const GraphFile& file) {
  const auto agree = [](int a, int b) { return a < 0 || b < 0 || a == b; };
  return agree(later.of.graph, file.graph) && agree(later.of.rank, file.rank);
}

// Names of operators repeat from graph to graph: where the later one says of which it is, it is of no other.
void add_fused(std::vector<Graph>& graphs, const std::vector<GraphFile>& files,
               const std::vector<LaterGraph>& later) {
  std::set<std::string_view> names;
  for (const Graph& graph : graphs) names.insert(graph.name);
  for (size_t i = 0; i < graphs.size(); ++i) {
    Graph& graph = graphs[i];
    for (const LaterGraph& from : later) {
      const std::string& name = from.graph.name;
      const bool is_named = from.of.graph < 0 && !name.empty() && names.contains(name);
      if (!may_be_of(from, files[i]) || (is_named && name != graph.name)) continue;
      for (const GraphOp& op : from.graph.fused)
        if (holds_all(graph, op.fused_from)) graph.add_fused(op);
    }
  }
}

// How many operators of each model each graph has; fused ones, which take longer to take apart, where there
// are no others.
class Fits {
 public:
  Fits(const std::vector<CompiledModel*>& models, const std::vector<const GraphFile*>& graphs) {
    const auto has = [](const Graph& graph, const std::string& op) { return graph.find(op) >= 0; };
    const auto has_parts = [](const Graph& graph, const std::string& op) {
      return !origins_of(graph, op).empty();
    };
    for (const CompiledModel* model : models) {
      std::vector<size_t> row = count(*model, graphs, has);
      const bool is_any = std::any_of(row.begin(), row.end(), [](size_t ops) { return ops > 0; });
      ops_.push_back(is_any ? std::move(row) : count(*model, graphs, has_parts));
    }
  }
  size_t ops(size_t model, size_t graph) const { return ops_[model][graph]; }
  // Another one has operators of the model that this one lacks. A compiler may give one of its own a name
  // that only the other graph has, so one in ten is not enough.
  bool is_contradicted(size_t model, size_t graph) const {
    const size_t best = *std::max_element(ops_[model].begin(), ops_[model].end());
    return ops_[model][graph] * 10 < best * 9;
  }

 private:
  template <typename Has>
  static std::vector<size_t> count(const CompiledModel& model, const std::vector<const GraphFile*>& graphs,
                                   Has has) {
    std::vector<size_t> row;
    for (const GraphFile* graph : graphs)
      row.push_back(!graph->content ? 0
                                    : static_cast<size_t>(std::count_if(
                                          model.op_names.begin(), model.op_names.end(),
                                          [&](const std::string& op) { return has(*graph->content, op); })));
    return row;
  }

  std::vector<std::vector<size_t>> ops_;
};

bool assign_by_number(const std::vector<CompiledModel*>& models, const std::vector<const GraphFile*>& graphs,
                      const Fits& fits) {
  std::vector<const GraphFile*> found;
  for (size_t m = 0; m < models.size(); ++m) {
    const auto number = graph_of_folder(models[m]->name);
    std::optional<size_t> best;  // runs that were dumped into one folder have graphs of one number
    for (size_t g = 0; g < graphs.size(); ++g) {
      if (!number || graphs[g]->graph != *number || !graphs[g]->content) continue;
      if (!best || fits.ops(m, g) > fits.ops(m, *best)) best = g;
    }
    if (!best || fits.is_contradicted(m, *best)) return false;
    found.push_back(graphs[*best]);
  }
  if (std::set<const GraphFile*>(found.begin(), found.end()).size() != found.size()) return false;
  for (size_t i = 0; i < models.size(); ++i) models[i]->graph = found[i];
  return true;
}

}  // namespace

std::vector<GraphFile> find_graphs(const fs::path& root, const std::vector<std::string>& files_below,
                                   int64_t memory) {
  std::vector<fs::path> candidates;
  for (const std::string& relative : files_below) candidates.push_back(root / relative);
  const auto is_graph = [](const fs::path& path) {
    return parse_graph_file(path.filename().native()).has_value();
  };
  fs::path folder = fs::absolute(root).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  for (int up = 0; up < kMostFoldersUp && std::none_of(candidates.begin(), candidates.end(), is_graph);
       ++up) {
    if (!folder.has_parent_path() || folder == folder.parent_path()) break;
    folder = folder.parent_path();
    candidates = files_in(folder);
  }
  std::vector<GraphFile> graphs;
  std::vector<Graph> contents;  // like graphs; empty: unreadable
  for (const fs::path& path : candidates) {
    const auto name = parse_graph_file(path.filename().native());
    if (!name) continue;
    GraphFile file{path, name->graph, name->rank};
    auto graph = read_ge_graph(path, memory);
    if (!graph) log::warn("{}; what its operators came from is not known", graph.error().message);
    contents.push_back(graph ? std::move(*graph) : Graph{});
    graphs.push_back(std::move(file));
  }
  add_fused(contents, graphs, later_graphs(candidates, memory));
  for (size_t i = 0; i < graphs.size(); ++i)
    if (!contents[i].ops.empty()) graphs[i].content = std::make_shared<const Graph>(std::move(contents[i]));
  std::stable_sort(graphs.begin(), graphs.end(),
                   [](const GraphFile& a, const GraphFile& b) { return a.graph < b.graph; });
  return graphs;
}

void assign_graphs(std::vector<CompiledModel*>& models, const std::vector<const GraphFile*>& graphs) {
  if (graphs.empty()) return;
  const Fits ops(models, graphs);
  if (assign_by_number(models, graphs, ops)) return;
  // A graph that is compiled for several shapes has several models.
  const bool is_shared = graphs.size() < models.size();
  struct Fit {
    size_t ops, model, graph;
    bool is_other_number;
  };
  std::vector<Fit> fits;
  for (size_t m = 0; m < models.size(); ++m)
    for (size_t g = 0; g < graphs.size(); ++g)
      if (graphs[g]->content) {
        const auto number = graph_of_folder(models[m]->name);
        fits.push_back({ops.ops(m, g), m, g, number && *number != graphs[g]->graph});
      }
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    if (a.ops != b.ops) return a.ops > b.ops;
    if (a.is_other_number != b.is_other_number) return b.is_other_number;
    const auto distance = [](const Fit& fit) {
      return fit.model > fit.graph ? fit.model - fit.graph : fit.graph - fit.model;
    };
    return distance(a) < distance(b);
  });
  std::vector<bool> taken(graphs.size());
  for (const Fit& fit : fits) {
    if (models[fit.model]->graph != nullptr || (taken[fit.graph] && !is_shared)) continue;
    models[fit.model]->graph = graphs[fit.graph];
    taken[fit.graph] = true;
    if (fit.is_other_number && ops.ops(fit.model, fit.graph) > 0)
      log::warn(
          "{}: holds the operators of the model in folder {}, whose name tells another graph; that model is "
          "taken for graph {}",
          display(graphs[fit.graph]->path), printable(models[fit.model]->name), graphs[fit.graph]->graph);
  }
}

}  // namespace assay
