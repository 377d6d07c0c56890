#include "assay/match/compiled/run_graph.h"

#include <algorithm>

namespace assay {
namespace {

DType coarsest_of(const Node& node) {
  DType found = DType::f64;
  for (const Item& item : node.items)
    if (item.meta != nullptr && is_real(item.meta->dtype)) found = coarser(found, item.meta->dtype);
  return found;
}

}  // namespace

RunGraph::RunGraph(const Frame& frame)
    : frame_(frame), graph_(*frame.graph), origins_(frame.nodes.size()), owners_(frame.graph->ops.size()) {
  for (size_t i = 0; i < frame.nodes.size(); ++i) {
    origins_[i] = origins_of(graph_, frame.nodes[i].name);
    for (const GeOp* const op : origins_[i])
      if (Owner& owner = owners_[number_of(*op)]; owner.node < 0)
        owner = {static_cast<int32_t>(i), op == origins_[i].back()};
  }
}

std::vector<DType> RunGraph::coarsest_types() const {
  std::vector<size_t> in_order(graph_.ops.size());
  for (size_t i = 0; i < in_order.size(); ++i) in_order[static_cast<size_t>(graph_.position[i])] = i;
  std::vector<DType> of_op(graph_.ops.size(), DType::f64);
  for (size_t i = 0; i < origins_.size(); ++i)
    for (const GeOp* const op : origins_[i])
      of_op[number_of(*op)] = coarser(of_op[number_of(*op)], coarsest_of(frame_.nodes[i]));
  // What a file no longer tells: extremes of bf16 are kept as f32.
  for (size_t i = 0; i < graph_.ops.size(); ++i)
    for (const GeOutput& output : graph_.ops[i].outputs)
      if (output.dtype && is_real(*output.dtype) && graph_.ops[i].kind() != OpKind::given)
        of_op[i] = coarser(of_op[i], *output.dtype);
  for (const size_t i : in_order)
    for (const GeInput& input : graph_.ops[i].inputs)
      if (const GeOp* const producer = input.output < 0 ? nullptr : graph_.find(input.producer))
        of_op[i] = coarser(of_op[i], of_op[number_of(*producer)]);
  std::vector<DType> of_node;
  DType so_far = DType::f64;
  for (size_t i = 0; i < origins_.size(); ++i) {
    DType found = coarsest_of(frame_.nodes[i]);
    so_far = coarser(so_far, found);
    for (const GeOp* const op : origins_[i]) found = coarser(found, of_op[number_of(*op)]);
    // Of what the compiler put in, the graph does not say what it is computed from: anything before it.
    of_node.push_back(origins_[i].empty() ? so_far : found);
  }
  return of_node;
}

bool RunGraph::has_partner(const PairedNode& node, int output) const {
  return std::ranges::any_of(node.pairs, [&](const Pair& pair) {
    if (!pair.mine || !pair.golden) return false;
    const Node& of_mine = frame_.nodes[static_cast<size_t>(pair.mine->node)];
    const Port& port = of_mine.items[static_cast<size_t>(pair.mine->item)].port;
    return port.direction == Direction::output && port.index == output;
  });
}

InputSource RunGraph::trace(const GeInput& input, const std::vector<int32_t>& paired,
                            const Pairing& pairing) const {
  constexpr int kMostSteps = 64;  // behind each other; a graph may be a circle
  const GeInput* from = &input;
  for (int step = 0; step < kMostSteps; ++step) {
    const GeOp* const op = graph_.find(from->producer);
    if (op == nullptr) return {};
    const Owner& owner = owners_[number_of(*op)];
    if (owner.node >= 0) {
      const int32_t node = paired[static_cast<size_t>(owner.node)];
      if (!owner.is_last || node < 0) return {};
      if (!hands_on(op->kind()) || has_partner(pairing.nodes[static_cast<size_t>(node)], from->output))
        return {InputSource::Kind::result, 0, node, from->output};
    }
    if (op->kind() == OpKind::given) return {InputSource::Kind::given};
    const auto is_data = [](const GeInput& each) { return each.output >= 0 && !each.producer.empty(); };
    const auto first = std::ranges::find_if(op->inputs, is_data);
    if (!hands_on(op->kind()) || first == op->inputs.end()) return {};
    from = &*first;
  }
  return {};
}

std::vector<InputSource> RunGraph::sources_of(size_t node, const std::vector<int32_t>& paired,
                                              const Pairing& pairing) const {
  const std::vector<OuterInput> outer = outer_inputs(origins_[node]);
  std::vector<int32_t> ports;
  for (const Item& item : frame_.nodes[node].items)
    if (item.port.direction == Direction::input) ports.push_back(item.port.index);
  if (!ports.empty() && ports.size() != outer.size()) return {};
  std::vector<InputSource> sources;
  for (size_t i = 0; i < outer.size(); ++i) {
    sources.push_back(trace(*outer[i].from, paired, pairing));
    sources.back().port = ports.empty() ? static_cast<int32_t>(i) : ports[i];
  }
  std::ranges::stable_sort(sources, {}, &InputSource::port);
  return sources;
}

}  // namespace assay
