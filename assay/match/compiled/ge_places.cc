#include "assay/match/compiled/ge_places.h"

#include "assay/model/ge_origins.h"

#include <set>

namespace assay {
namespace {

// What two parts take may be handed to the operator for each of them, or once for all.
std::vector<OuterInput> each_tensor_once(const std::vector<OuterInput>& inputs) {
  std::set<std::pair<std::string_view, int>> known;
  std::vector<OuterInput> once;
  for (const OuterInput& input : inputs)
    if (known.emplace(input.from->producer, input.from->output).second) once.push_back(input);
  return once;
}

void place_fused_inputs(size_t dumped, const std::vector<const GeOp*>& origins, PlacedOp& placed) {
  std::vector<OuterInput> outer = outer_inputs(origins);
  if (outer.size() != dumped)
    if (std::vector<OuterInput> once = each_tensor_once(outer); once.size() == dumped)
      outer = std::move(once);
  placed.inputs_fit = outer.size() == dumped;
  for (const OuterInput& input : outer)
    placed.inputs.push_back({input.op->name, Direction::input, static_cast<int>(input.index)});
}

PlacedOp place(const GraphOps& ops, const GraphOps::Op& op, const GeGraph* graph) {
  PlacedOp placed;
  std::vector<const GeOp*> origins;
  if (graph != nullptr && !is_slice(op.name)) origins = origins_of(*graph, op.name);
  placed.is_of_graph = !origins.empty();
  for (const GeOp* origin : origins) placed.parts.push_back(origin->name);
  if (origins.empty()) placed.parts.push_back(op.name);
  std::optional<OutputOrigins> said;
  if (placed.is_of_graph) said.emplace(*graph, op.name, origins);
  for (const size_t output : op.outputs) {
    const int index = ops.item(output).port.index;
    const auto origin = said ? said->of(index) : OutputOrigins::Origin{nullptr, index};
    const std::string_view unknown = said ? std::string_view() : op.name;
    placed.outputs.push_back({origin.op == nullptr ? unknown : std::string_view(origin.op->name),
                              Direction::output, origin.index});
  }
  if (origins.size() > 1)
    place_fused_inputs(op.inputs.size(), origins, placed);
  else
    for (size_t i = 0; i < op.inputs.size(); ++i)
      placed.inputs.push_back({placed.parts[0], Direction::input, static_cast<int>(i)});
  return placed;
}

}  // namespace

GePlaces::GePlaces(const GraphOps& ops, const GeGraph* graph) : ops_(ops) {
  for (const GraphOps::Op& op : ops.all()) {
    const PlacedOp& placed = placed_.emplace_back(place(ops, op, graph));
    for (size_t i = 0; placed.inputs_fit && i < op.inputs.size(); ++i)
      positions_.try_emplace(placed.inputs[i], op.inputs[i]);
    for (size_t i = 0; i < op.outputs.size(); ++i) positions_.try_emplace(placed.outputs[i], op.outputs[i]);
  }
}

const PlacedOp& GePlaces::at(const GraphOps::Op& op) const {
  return placed_[static_cast<size_t>(&op - ops_.all().data())];
}

size_t GePlaces::find(const GePlace& place) const {
  const auto found = positions_.find(place);
  return found == positions_.end() || place.op.empty() ? kNotDumped : found->second;
}

std::vector<size_t> GePlaces::find(const std::vector<GePlace>& places) const {
  std::vector<size_t> positions;
  for (const GePlace& place : places) positions.push_back(find(place));
  return positions;
}

}  // namespace assay
