// Finds the graph that belongs to each of the compiled models of a GE dump.
#pragma once

#include "assay/dump/layout.h"
#include "assay/model/graph.h"

#include <memory>
#include <unordered_set>

namespace assay {

struct GraphFile {
  fs::path path;
  int graph = -1, rank = -1;
  std::shared_ptr<const Graph> content = {};  // null: unreadable
};

// The graphs that were written before optimisation, below the dump or beside it, by number. What was
// written later (dynamo_optimized_graph_*.txt, ge_proto_*.txt) adds what fused operators came from. Those
// that cannot be read are warned of.
std::vector<GraphFile> find_graphs(const fs::path& root, const std::vector<std::string>& files_below,
                                   int64_t memory);

// One compiled model of a rank.
struct CompiledModel {
  std::string name;  // "graph_1"
  std::unordered_set<std::string> op_names = {};
  const GraphFile* graph = nullptr;  // filled by assign_graphs
};

// By the number in the model's name, of several by the operators they share; else, and where the model has
// operators that the graph of its number lacks and another one has, by these alone; else in order.
void assign_graphs(std::vector<CompiledModel*>& models, const std::vector<const GraphFile*>& graphs);

}  // namespace assay
