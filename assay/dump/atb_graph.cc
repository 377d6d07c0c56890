#include "assay/dump/atb_graph.h"

#include "assay/graph/atb_op.h"

#include <fmt/format.h>

namespace assay {
namespace {

void add_model(Graph& graph, const AtbModel& model) {
  const AtbTopology& topology = *model.content;
  graph.keep(model.content);
  const std::unordered_set<std::string_view> weights(topology.weights.begin(), topology.weights.end());
  std::vector<int32_t> places;  // in the graph, by place in the topology
  std::vector<int64_t> next_child(topology.ops.size(), 0);
  for (const AtbOp& op : topology.ops) {
    if (op.parent < 0) {
      next_child[0] = model.first_order;
      places.push_back(graph.add({.name = "root", .type = graph.strings.keep(topology.name)}));
      continue;
    }
    GraphOp added = graph_op_of(op, graph.strings);
    for (GraphInput& input : added.inputs) input.is_weight = weights.contains(input.name);
    const auto parent = static_cast<size_t>(op.parent);
    added.parent = places[parent];
    const std::string_view above = graph.at(added.parent).path;
    added.path = graph.strings.keep(
        fmt::format("{}{}{}_{}", above, above.empty() ? "" : "/", next_child[parent]++, op.type));
    places.push_back(graph.add(std::move(added)));
  }
}

}  // namespace

std::shared_ptr<const Graph> AtbGraphs::of(const std::vector<const AtbModel*>& models) {
  if (models.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Graph>& made = made_[models];
  if (made == nullptr) {
    auto graph = std::make_shared<Graph>();
    for (const AtbModel* const model : models) add_model(*graph, *model);
    graph->connect_by_names();
    made = std::move(graph);
  }
  return made;
}

}  // namespace assay
