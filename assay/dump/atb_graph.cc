#include "assay/dump/atb_graph.h"

#include <fmt/format.h>

namespace assay {
namespace {

GraphOp op_of(Graph& graph, const AtbOp& op) {
  GraphOp made;
  made.name = graph.strings.keep(op.name);
  made.type = graph.strings.keep(op.type);
  for (const std::string& tensor : op.in_tensors) made.inputs.push_back({graph.strings.keep(tensor)});
  for (const std::string& tensor : op.out_tensors)
    made.outputs.push_back({.name = graph.strings.keep(tensor)});
  made.has_bias = op.has_bias();
  if (const auto kind = op.elewise_type()) made.elewise_type = static_cast<int>(*kind);
  made.kind = kind_of_atb(op.type, op.elewise_type());
  made.has_rows_out = op.find_flag("transposeB").value_or(true);
  if (const auto scale = op.find_number("quantParam.inputScale"))
    made.quant_step = QuantStep{*scale, op.find_number("quantParam.inputOffset").value_or(0)};
  made.params = op.params;
  return made;
}

void add_model(Graph& graph, const AtbModel& model) {
  const AtbTopology& topology = *model.content;
  graph.keep(model.content);
  std::vector<int32_t> places;  // in the graph, by place in the topology
  std::vector<int64_t> next_child(topology.ops.size(), 0);
  for (const AtbOp& op : topology.ops) {
    if (op.parent < 0) {
      next_child[0] = model.first_order;
      places.push_back(graph.add({.name = "root", .type = graph.strings.keep(topology.name)}));
      continue;
    }
    GraphOp added = op_of(graph, op);
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
