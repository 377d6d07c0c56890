#include "assay/match/compiled/graph_ports.h"

#include "assay/model/origins.h"

#include <set>

namespace assay {
namespace {

// What two parts take may be handed to the operator for each of them, or once for all.
std::vector<OuterInput> each_tensor_once(const std::vector<OuterInput>& inputs) {
  std::set<int32_t> known;  // values
  std::vector<OuterInput> once;
  for (const OuterInput& input : inputs)
    if (known.insert(input.from->value).second) once.push_back(input);
  return once;
}

void place_fused_inputs(size_t dumped, const Graph& graph, const std::vector<int32_t>& origins,
                        PlacedOp& placed) {
  std::vector<OuterInput> outer = outer_inputs(graph, origins);
  if (outer.size() != dumped)
    if (std::vector<OuterInput> once = each_tensor_once(outer); once.size() == dumped)
      outer = std::move(once);
  placed.inputs_fit = outer.size() == dumped;
  for (const OuterInput& input : outer)
    placed.inputs.push_back({graph.at(input.op).name, Direction::input, static_cast<int>(input.index)});
}

PlacedOp place(const GraphOps& ops, const GraphOps::Op& op, const Graph* graph) {
  PlacedOp placed;
  std::vector<int32_t> origins;
  if (graph != nullptr && !is_slice(op.name)) origins = ops.origins(op, *graph);
  placed.is_of_graph = !origins.empty();
  for (const int32_t origin : origins) placed.parts.push_back(graph->at(origin).name);
  if (origins.empty()) placed.parts.push_back(op.name);
  std::optional<OutputOrigins> said;
  if (placed.is_of_graph) said.emplace(*graph, op.name, origins);
  for (const size_t output : op.outputs) {
    const int index = ops.item(output).port.index;
    const auto origin = said ? said->of(index) : OutputOrigins::Origin{-1, index};
    const std::string_view unknown = said ? std::string_view() : op.name;
    placed.outputs.push_back(
        {origin.op < 0 ? unknown : graph->at(origin.op).name, Direction::output, origin.index});
  }
  if (origins.size() > 1)
    place_fused_inputs(op.inputs.size(), *graph, origins, placed);
  else
    for (size_t i = 0; i < op.inputs.size(); ++i)
      placed.inputs.push_back({placed.parts[0], Direction::input, static_cast<int>(i)});
  return placed;
}

}  // namespace

GraphPorts::GraphPorts(const GraphOps& ops, const Graph* graph) : ops_(ops) {
  for (const GraphOps::Op& op : ops.all()) {
    const PlacedOp& placed = placed_.emplace_back(place(ops, op, graph));
    for (size_t i = 0; placed.inputs_fit && i < op.inputs.size(); ++i)
      positions_.try_emplace(placed.inputs[i], op.inputs[i]);
    for (size_t i = 0; i < op.outputs.size(); ++i) positions_.try_emplace(placed.outputs[i], op.outputs[i]);
  }
}

const PlacedOp& GraphPorts::at(const GraphOps::Op& op) const {
  return placed_[static_cast<size_t>(&op - ops_.all().data())];
}

size_t GraphPorts::find(const GraphPort& place) const {
  const auto found = positions_.find(place);
  return found == positions_.end() || place.op.empty() ? kNotDumped : found->second;
}

std::vector<size_t> GraphPorts::find(const std::vector<GraphPort>& places) const {
  std::vector<size_t> positions;
  for (const GraphPort& place : places) positions.push_back(find(place));
  return positions;
}

}  // namespace assay
