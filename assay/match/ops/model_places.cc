#include "assay/match/ops/model_places.h"

#include "assay/base/text.h"
#include "assay/match/compiled/run_graph.h"
#include "assay/match/ops/model_roles.h"

#include <algorithm>
#include <optional>

namespace assay {
namespace {

// The name of an operator alone is not enough where its inputs were dumped: one of them is in int8.
bool multiplies_in_int8(const Frame& frame, int32_t place) {
  const GraphOp& op = frame.graph->at(place);
  if (op.elewise_type && op.kind == OpKind::quantise) return true;
  if (!names_quantisation(op.type)) return false;
  const int32_t node = frame.node_of(place);
  if (node < 0) return true;
  const std::vector<Item>& items = frame.nodes[static_cast<size_t>(node)].items;
  const auto is_input = [](const Item& item) { return item.port.direction == Direction::input; };
  const auto is_int8 = [](const Item& item) { return item.meta != nullptr && item.meta->dtype == DType::i8; };
  return std::ranges::none_of(items, is_input) || std::ranges::any_of(items, is_int8);
}

std::vector<int32_t> layers_of(const Frame& frame) {
  return frame.framework == "atb" ? atb_layers(frame.tree()) : torch_layers(frame.tree());
}

// How far a model has got when an operator runs: 2 for every layer that is finished, 1 more inside of one.
std::vector<int32_t> progress_of(const Graph& tree, const std::vector<int32_t>& layers) {
  std::vector<int32_t> progress(tree.ops.size(), 0);
  std::vector<bool> is_layer(tree.ops.size(), false);
  for (const int32_t layer : layers) is_layer[static_cast<size_t>(layer)] = true;
  std::vector<size_t> root_of(tree.ops.size());
  std::vector<int32_t> begun(tree.ops.size(), 0);  // layers of a model so far, by its root
  for (size_t i = 0; i < tree.ops.size(); ++i) {   // a parent stands before its children
    const bool has_parent = tree.ops[i].parent >= 0;
    const auto parent = static_cast<size_t>(std::max(tree.ops[i].parent, 0));
    root_of[i] = has_parent ? root_of[parent] : i;
    if (has_parent && progress[parent] % 2 != 0)
      progress[i] = progress[parent];
    else if (is_layer[i])
      progress[i] = 2 * begun[root_of[i]]++ + 1;
    else
      progress[i] = 2 * begun[root_of[i]];
  }
  return progress;
}

constexpr int32_t kNever = INT32_MAX;

// Where a run begins to multiply in int8: what comes before is not owed to it.
struct FirstInt8 {
  int32_t progress = kNever;
  std::string op = {};
};

FirstInt8 first_int8(const std::vector<Frame>& frames) {
  FirstInt8 first;
  for (const Frame& frame : frames) {
    const std::vector<int32_t> progress = progress_of(frame.tree(), layers_of(frame));
    for (size_t i = 0; i < progress.size(); ++i) {
      if (progress[i] >= first.progress || !multiplies_in_int8(frame, static_cast<int32_t>(i))) continue;
      const GraphOp& op = frame.graph->ops[i];
      first = {progress[i], printable(op.path.empty() ? op.name : op.path)};
    }
  }
  return first;
}

// By node of the frame.
std::vector<ModelPlace> places_in(const Frame& frame, int32_t quantised_from) {
  const Graph& tree = frame.tree();
  const std::vector<int32_t> progress = progress_of(tree, layers_of(frame));
  std::vector<ModelPlace> of_op(tree.ops.size());
  for (size_t i = 0; i < tree.ops.size(); ++i) {
    of_op[i].layers_before = progress[i] / 2;
    of_op[i].is_quantised = progress[i] >= quantised_from;
    of_op[i].kind = tree.ops[i].kind;
    of_op[i].trait = trait_of(frame.framework, tree.ops[i].type);
  }
  for (size_t i = tree.ops.size(); i-- > 0;) {
    const int32_t parent = tree.ops[i].parent;
    if (parent >= 0 && (frame.node_of(static_cast<int32_t>(i)) >= 0 || of_op[i].is_group))
      of_op[static_cast<size_t>(parent)].is_group = true;
  }
  std::vector<ModelPlace> of_node(frame.nodes.size());
  for (size_t i = 0; i < tree.ops.size(); ++i)
    if (const int32_t node = frame.node_of(static_cast<int32_t>(i)); node >= 0)
      of_node[static_cast<size_t>(node)] = of_op[i];
  return of_node;
}

// A compiled graph has no layers, but a decoder layer has about as many of these products.
constexpr int32_t kProductsOfALayer = 8;

bool is_graph(const Frame& frame) { return frame.framework == "ge" || frame.framework == "fx"; }

// Without a graph anything may be computed from anything before it.
std::vector<DType> coarsest_so_far(const Frame& frame) {
  std::vector<DType> of_node;
  DType coarsest = DType::f64;
  for (const Node& node : frame.nodes) {
    for (const Item& item : node.items) {
      if (item.meta != nullptr && is_real(item.meta->dtype)) coarsest = coarser(coarsest, item.meta->dtype);
    }
    of_node.push_back(coarsest);
  }
  return of_node;
}

// What a compiler fused has a type of its own, whatever the operators it was made of.
OpKind kind_of_node(const Frame& frame, size_t node) {
  if (frame.graph != nullptr && frame.graph->shape == GraphShape::trace)
    return frame.graph->at(frame.ops_of(node).front()).kind;
  return kind_of(frame.framework, frame.nodes[node].type);
}

std::vector<ModelPlace> places_in_graph(const Frame& frame, const RunGraph* graph) {
  std::vector<ModelPlace> of_node;
  int32_t products = 0;
  const std::vector<DType> coarsest = graph != nullptr ? graph->coarsest_types() : coarsest_so_far(frame);
  for (size_t i = 0; i < frame.nodes.size(); ++i) {
    ModelPlace place;
    place.layers_before = products / kProductsOfALayer;
    place.coarsest = coarsest[i];
    place.is_compiled = true;
    place.kind = kind_of_node(frame, i);
    place.trait = trait_of(frame.framework, frame.nodes[i].type);
    place.is_fused = frame.ops_of(i).size() > 1;
    place.has_graph = graph != nullptr;
    of_node.push_back(place);
    products += multiplies_matrices(place.kind);
  }
  return of_node;
}

const ItemId* first_of_mine(const PairedNode& node) {
  const auto found = std::ranges::find_if(node.pairs, [](const Pair& pair) { return pair.mine.has_value(); });
  return found == node.pairs.end() ? nullptr : &*found->mine;
}

enum class Origin : uint8_t { unknown, computed, constant };

// `graph`: of a compiled frame. An input whose operator is not in the dump, or that the model was called
// with, may well have been computed: that is not known.
Origin origin_of(const Frame& frame, const RunGraph* graph, const ItemId& id) {
  const auto node = static_cast<size_t>(id.node);
  const Port& port = frame.nodes[node].items[static_cast<size_t>(id.item)].port;
  if (port.direction == Direction::parameter) return Origin::constant;
  if (port.direction == Direction::output) return Origin::computed;
  if (port.direction != Direction::input) return Origin::unknown;
  // Constants are all that a compiled graph is sure of.
  if (graph != nullptr) return graph->is_constant(node, port.index) ? Origin::constant : Origin::computed;
  const Graph& tree = frame.tree();
  const std::span<const int32_t> ops = frame.ops_of(node);
  if (tree.ops.empty() || ops.empty()) return Origin::unknown;
  if (tree.is_weight(ops.front(), port)) return Origin::constant;
  return tree.producer_of(tree.value_of(ops.front(), port)) >= 0 ? Origin::computed : Origin::unknown;
}

using RunGraphs = std::vector<std::optional<RunGraph>>;  // by frame; those that are compiled

RunGraphs graphs_of(const std::vector<Frame>& frames) {
  RunGraphs graphs;
  for (const Frame& frame : frames) {
    auto& graph = graphs.emplace_back();
    if (frame.compiled() != nullptr) graph.emplace(frame);
  }
  return graphs;
}

// One side may not say it, but neither may say otherwise: golden may compute what mine has folded.
void note_constants(const Indexed& frames, const RunGraphs& of_mine, const RunGraphs& of_golden,
                    std::vector<PairedNode>& nodes) {
  const auto origin = [&](Side side, const ItemId& id) {
    const auto& graph = (side == Side::mine ? of_mine : of_golden)[static_cast<size_t>(id.frame)];
    return origin_of(frames.frame(side, id), graph ? &*graph : nullptr, id);
  };
  for (PairedNode& node : nodes)
    for (Pair& pair : node.pairs) {
      if (!pair.mine || !pair.golden) continue;
      const Origin mine = origin(Side::mine, *pair.mine);
      if (mine == Origin::computed) continue;
      const Origin golden = origin(pair.golden_side(), *pair.golden);
      pair.is_constant =
          golden != Origin::computed && (mine == Origin::constant || golden == Origin::constant);
    }
}

// Of a tree that names the tensors between its operators: in the order of ports. An operator of which nothing
// was dumped is not followed.
std::vector<InputSource> sources_in_tree(const Frame& frame, size_t node,
                                         const std::vector<int32_t>& paired) {
  std::vector<InputSource> sources;
  const Graph& tree = frame.tree();
  const std::span<const int32_t> ops = frame.ops_of(node);
  if (tree.values.empty() || ops.empty()) return sources;
  const std::vector<GraphInput>& inputs = tree.at(ops.front()).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    InputSource& source = sources.emplace_back();
    source.port = static_cast<int32_t>(i);
    if (inputs[i].value < 0) continue;
    const int32_t producer = tree.producer_of(inputs[i].value);
    if (producer < 0) {
      source.kind = InputSource::Kind::given;
    } else if (const int32_t from = frame.node_of(producer); from >= 0) {
      source.kind = InputSource::Kind::result;
      source.node = paired[static_cast<size_t>(from)];
      source.output = tree.values[static_cast<size_t>(inputs[i].value)].output;
    }
  }
  return sources;
}

void note_sources(Matched& matched, const RunGraphs& graphs) {
  const Indexed& frames = matched.frames;
  std::vector<PairedNode>& nodes = matched.pairing.nodes;
  const auto names_values = [](const Frame& frame) { return !frame.tree().values.empty(); };
  if (std::ranges::none_of(graphs, [](const auto& graph) { return graph.has_value(); }) &&
      std::ranges::none_of(frames.mine, names_values))
    return;
  std::vector<std::vector<int32_t>> paired;  // where the nodes of mine stand in the pairing
  for (const Frame& frame : frames.mine) paired.emplace_back(frame.nodes.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (const ItemId* const id = first_of_mine(nodes[i])) {
      int32_t& place = paired[static_cast<size_t>(id->frame)][static_cast<size_t>(id->node)];
      if (place < 0) place = static_cast<int32_t>(i);
    }
  std::vector<std::vector<InputSource>>& sources = matched.pairing.sources;
  sources.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    if (const ItemId* const id = first_of_mine(nodes[i])) {
      const auto frame = static_cast<size_t>(id->frame), node = static_cast<size_t>(id->node);
      sources[i] = graphs[frame] ? graphs[frame]->sources_of(node, paired[frame], matched.pairing)
                                 : sources_in_tree(frames.mine[frame], node, paired[frame]);
    }
}

}  // namespace

void note_model_places(Matched& matched) {
  const Indexed& frames = matched.frames;
  const auto has_places = [](const Frame& frame) { return !frame.tree().ops.empty() || is_graph(frame); };
  for (const Side side : {Side::mine, Side::golden}) {
    const bool is_asked = side == Side::mine || !matched.pairing.by_itself;
    if (is_asked && (frames.frames(side).empty() || !std::ranges::all_of(frames.frames(side), has_places)))
      return;
  }
  const FirstInt8 in_mine = first_int8(frames.mine), in_golden = first_int8(frames.golden);
  // Where both are, nothing of the difference is owed to it.
  const bool is_one_side =
      !matched.pairing.by_itself && (in_mine.progress == kNever) != (in_golden.progress == kNever);
  const FirstInt8& first = in_mine.progress != kNever ? in_mine : in_golden;
  const int32_t from = is_one_side ? first.progress : kNever;
  if (is_one_side)
    matched.pairing.warnings.push_back(
        fmt::format("{} multiplies in int8, the other run does not: from the layer of {} on a quarter of the "
                    "norm may differ",
                    &first == &in_mine ? "mine" : "golden", first.op));
  std::vector<std::vector<ModelPlace>> of_mine;
  const RunGraphs graphs = graphs_of(frames.mine);
  for (size_t i = 0; i < graphs.size(); ++i)
    of_mine.push_back(is_graph(frames.mine[i])
                          ? places_in_graph(frames.mine[i], graphs[i] ? &*graphs[i] : nullptr)
                          : places_in(frames.mine[i], from));
  std::vector<PairedNode>& nodes = matched.pairing.nodes;
  note_constants(frames, graphs, graphs_of(frames.golden), nodes);
  for (PairedNode& node : nodes)
    if (const ItemId* const id = first_of_mine(node))
      node.place = of_mine[static_cast<size_t>(id->frame)][static_cast<size_t>(id->node)];
  note_sources(matched, graphs);
}

}  // namespace assay
