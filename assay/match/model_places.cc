#include "assay/match/model_places.h"

#include "assay/base/text.h"
#include "assay/match/model_roles.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr int kQuantise = 6, kQuantisePerChannel = 17;  // element-wise types

bool multiplies_in_int8(const Frame& frame) {
  return std::any_of(frame.tree.ops.begin(), frame.tree.ops.end(), [](const TreeOp& op) {
    if (op.elewise_type == kQuantise || op.elewise_type == kQuantisePerChannel) return true;
    const std::string type = to_lower(op.type);  // LinearQuantOperation, but also LinearNoQuant
    return type.find("quant") != std::string::npos && type.find("noquant") == std::string::npos;
  });
}

// By node of the frame.
std::vector<ModelPlace> places_in(const Frame& frame, bool is_quantised) {
  const OpTree& tree = frame.tree;
  const std::vector<int32_t> layers = frame.framework == "atb" ? atb_layers(tree) : torch_layers(tree);
  std::vector<bool> is_inside(tree.ops.size(), false);
  for (const int32_t layer : layers) is_inside[static_cast<size_t>(layer)] = true;
  std::vector<ModelPlace> of_op(tree.ops.size());
  std::vector<size_t> root_of(tree.ops.size());
  std::vector<int32_t> begun(tree.ops.size(), 0);  // layers of a model so far, by its root
  for (size_t i = 0; i < tree.ops.size(); ++i) {   // a parent stands before its children
    const bool has_parent = tree.ops[i].parent >= 0;
    const auto parent = static_cast<size_t>(std::max(tree.ops[i].parent, 0));
    root_of[i] = has_parent ? root_of[parent] : i;
    int32_t& layers_so_far = begun[root_of[i]];
    of_op[i].layers_before = layers_so_far;
    if (is_inside[i]) ++layers_so_far;
    of_op[i].is_quantised = is_quantised && (layers_so_far > 0 || layers.empty());
    if (has_parent && is_inside[parent]) {
      is_inside[i] = true;
      of_op[i].layers_before = of_op[parent].layers_before;
    }
  }
  for (size_t i = tree.ops.size(); i-- > 0;) {
    const TreeOp& op = tree.ops[i];
    if (op.parent >= 0 && (op.node >= 0 || of_op[i].is_group))
      of_op[static_cast<size_t>(op.parent)].is_group = true;
  }
  std::vector<ModelPlace> of_node(frame.nodes.size());
  for (size_t i = 0; i < tree.ops.size(); ++i)
    if (const int32_t node = tree.ops[i].node; node >= 0) of_node[static_cast<size_t>(node)] = of_op[i];
  return of_node;
}

// Products of matrices, whatever they are called: their sums are where runs differ most.
bool multiplies_matrices(std::string_view op_type) {
  const std::string type = to_lower(op_type);
  return std::ranges::any_of(
      std::array<std::string_view, 6>{"matmul", "conv", "attention", ".mm", ".bmm", "linear"},
      [&](std::string_view word) { return type.find(word) != std::string::npos; });
}

// A compiled graph has no layers, but a decoder layer has about as many of these products.
constexpr int32_t kProductsOfALayer = 8;

bool is_graph(const Frame& frame) { return frame.framework == "ge" || frame.framework == "fx"; }

std::vector<ModelPlace> places_in_graph(const Frame& frame) {
  std::vector<ModelPlace> of_node;
  int32_t products = 0;
  DType coarsest = DType::f64;
  for (const Node& node : frame.nodes) {
    for (const Item& item : node.items) {
      if (item.meta == nullptr || !is_real(item.meta->dtype)) continue;
      if (info(item.meta->dtype).mantissa_bits < info(coarsest).mantissa_bits) coarsest = item.meta->dtype;
    }
    ModelPlace place;
    place.layers_before = products / kProductsOfALayer;
    place.coarsest = coarsest;
    place.is_compiled = true;
    place.is_product = multiplies_matrices(node.type);
    of_node.push_back(place);
    products += place.is_product;
  }
  return of_node;
}

}  // namespace

void note_model_places(Matched& matched) {
  const Indexed& frames = matched.frames;
  const auto has_places = [](const Frame& frame) { return !frame.tree.ops.empty() || is_graph(frame); };
  for (const Side side : {Side::mine, Side::golden})
    if (frames.frames(side).empty() || !std::ranges::all_of(frames.frames(side), has_places)) return;
  const bool is_quantised = std::ranges::any_of(frames.mine, multiplies_in_int8) !=
                            std::ranges::any_of(frames.golden, multiplies_in_int8);
  std::vector<std::vector<ModelPlace>> of_mine;
  for (const Frame& frame : frames.mine)
    of_mine.push_back(is_graph(frame) ? places_in_graph(frame) : places_in(frame, is_quantised));
  for (PairedNode& node : matched.pairing.nodes) {
    const auto with_mine =
        std::ranges::find_if(node.pairs, [](const Pair& pair) { return pair.mine.has_value(); });
    if (with_mine == node.pairs.end()) continue;
    const ItemId& id = *with_mine->mine;
    node.place = of_mine[static_cast<size_t>(id.frame)][static_cast<size_t>(id.node)];
  }
}

}  // namespace assay
