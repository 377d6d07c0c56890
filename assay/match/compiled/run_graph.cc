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

constexpr int kLongestWay = 64;  // behind each other; a graph may be a circle

const GraphInput* first_data(const GraphOp& op) {
  const auto is_data = [](const GraphInput& each) { return each.output >= 0 && !each.name.empty(); };
  const auto first = std::ranges::find_if(op.inputs, is_data);
  return first == op.inputs.end() ? nullptr : &*first;
}

}  // namespace

std::vector<DType> RunGraph::coarsest_types() const {
  std::vector<DType> of_op(graph_.ops.size(), DType::f64);
  const auto type_of = [&](int32_t op) -> DType& { return of_op[static_cast<size_t>(op)]; };
  for (size_t i = 0; i < frame_.nodes.size(); ++i)
    for (const int32_t op : frame_.ops_of(i))
      type_of(op) = coarser(type_of(op), coarsest_of(frame_.nodes[i]));
  // What a file no longer tells: extremes of bf16 are kept as f32.
  for (size_t i = 0; i < graph_.ops.size(); ++i)
    for (const GraphOutput& output : graph_.ops[i].outputs)
      if (output.dtype && is_real(*output.dtype) && graph_.ops[i].kind != OpKind::given)
        of_op[i] = coarser(of_op[i], *output.dtype);
  for (const int32_t op : graph_.in_order())
    for (const GraphInput& input : graph_.at(op).inputs)
      if (const int32_t producer = graph_.producer_of(input.value); producer >= 0)
        type_of(op) = coarser(type_of(op), type_of(producer));
  std::vector<DType> of_node;
  DType so_far = DType::f64;
  for (size_t i = 0; i < frame_.nodes.size(); ++i) {
    DType found = coarsest_of(frame_.nodes[i]);
    so_far = coarser(so_far, found);
    for (const int32_t op : frame_.ops_of(i)) found = coarser(found, type_of(op));
    // Of what the compiler put in, the graph does not say what it is computed from: anything before it.
    of_node.push_back(frame_.ops_of(i).empty() ? so_far : found);
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

InputSource RunGraph::trace(const GraphInput& input, const std::vector<int32_t>& paired,
                            const Pairing& pairing) const {
  const GraphInput* from = &input;
  for (int step = 0; step < kLongestWay; ++step) {
    const int32_t producer = graph_.producer_of(from->value);
    if (producer < 0) return {};
    const GraphOp& op = graph_.at(producer);
    if (const int32_t ran_in = frame_.node_of(producer); ran_in >= 0) {
      const int32_t node = paired[static_cast<size_t>(ran_in)];
      // Of those fused into one, the results of the last are the node's.
      const bool is_last = frame_.ops_of(static_cast<size_t>(ran_in)).back() == producer;
      if (!is_last || node < 0) return {};
      if (!hands_on(op.kind) || has_partner(pairing.nodes[static_cast<size_t>(node)], from->output))
        return {InputSource::Kind::result, 0, node, from->output};
    }
    if (op.kind == OpKind::given) return {InputSource::Kind::given};
    from = first_data(op);
    if (!hands_on(op.kind) || from == nullptr) return {};
  }
  return {};
}

std::vector<RunGraph::Input> RunGraph::inputs_of(size_t node) const {
  const std::vector<OuterInput> outer = outer_inputs(graph_, frame_.ops_of(node));
  std::vector<int32_t> ports;
  for (const Item& item : frame_.nodes[node].items)
    if (item.port.direction == Direction::input) ports.push_back(item.port.index);
  if (!ports.empty() && ports.size() != outer.size()) return {};
  std::vector<Input> inputs;
  for (size_t i = 0; i < outer.size(); ++i)
    inputs.push_back({ports.empty() ? static_cast<int32_t>(i) : ports[i], outer[i].from});
  return inputs;
}

bool RunGraph::is_constant(size_t node, int32_t port) const {
  const std::vector<Input> inputs = inputs_of(node);
  const auto input = std::ranges::find(inputs, port, &Input::port);
  const GraphInput* from = input == inputs.end() ? nullptr : input->from;
  for (int step = 0; step < kLongestWay && from != nullptr; ++step) {
    const int32_t producer = graph_.producer_of(from->value);
    if (producer < 0) return false;
    const GraphOp& op = graph_.at(producer);
    if (op.kind == OpKind::given) return is_ge_constant(op.type);
    from = hands_on(op.kind) ? first_data(op) : nullptr;
  }
  return false;
}

std::vector<InputSource> RunGraph::sources_of(size_t node, const std::vector<int32_t>& paired,
                                              const Pairing& pairing) const {
  std::vector<InputSource> sources;
  for (const Input& input : inputs_of(node)) {
    sources.push_back(trace(*input.from, paired, pairing));
    sources.back().port = input.port;
  }
  std::ranges::stable_sort(sources, {}, &InputSource::port);
  return sources;
}

}  // namespace assay
