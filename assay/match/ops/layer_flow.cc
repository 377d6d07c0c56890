#include "assay/match/ops/layer_flow.h"

#include <algorithm>

namespace assay {

// No layer has as many operators; to follow each through all of them would take its square.
constexpr size_t kMostLeaves = 4096;

LayerFlow::LayerFlow(const Graph& tree, const ValueFlow& flow, int32_t layer)
    : tree_(tree), flow_(flow), top_(layer) {
  const std::vector<int32_t> leaves = tree.leaves(layer);
  leaves_.insert(leaves.begin(), leaves.end());
  is_small_ = leaves.size() <= kMostLeaves;
  if (!is_small_) return;
  for (const int32_t leaf : leaves) {
    if (is_kind(leaf, OpKind::attention) && core_ < 0) core_ = leaf;
    if (is_kind(leaf, OpKind::dispatch) && dispatch_ < 0) dispatch_ = leaf;
    if (is_kind(leaf, OpKind::combine)) combine_ = leaf;
  }
  const auto goes_on = [this](int32_t op) { return is_on_the_way(op); };
  if (core_ >= 0) {
    before_core_ = flow.upstream(core_, leaves_);
    behind_core_ = flow.downstream(core_, leaves_, goes_on);
  }
  if (dispatch_ >= 0) {
    before_dispatch_ = flow.upstream(dispatch_, leaves_, goes_on);
    in_experts_ = flow.downstream(dispatch_, leaves_, [this](int32_t op) {
      return !is_kind(op, OpKind::combine) && !is_kind(op, OpKind::sum);
    });
  }
}

// What is done element by element, without weights, or to the order of elements.
bool LayerFlow::is_on_the_way(int32_t op) const {
  const OpKind kind = tree_.at(op).kind;
  return !multiplies_matrices(kind) && !is_norm(kind) && kind != OpKind::sum && kind != OpKind::dispatch &&
         kind != OpKind::combine;
}

bool LayerFlow::leaves_layer(int32_t op) const {
  const int32_t value = tree_.value_of(op, {Direction::output, 0});
  return value >= 0 && std::ranges::any_of(tree_.at(top_).outputs,
                                           [&](const GraphOutput& each) { return each.value == value; });
}

LayerFlow::Part LayerFlow::part_of(int32_t product) const {
  if (core_ < 0 || !flow_.is_connected(product)) return Part::unknown;
  if (before_core_.contains(product)) return Part::projection;
  if (behind_core_.contains(product)) return Part::output;
  if (before_dispatch_.contains(product)) return Part::router;
  if (in_experts_.contains(product)) return Part::experts;
  // Where nobody takes what it gives, the graph has a gap, and its place may be anywhere.
  if (flow_.after(product).empty() && !leaves_layer(product)) return Part::unknown;
  return dispatch_ >= 0 ? Part::shared : Part::mlp;
}

LayerFlow::Part LayerFlow::part_before(int32_t op) const {
  if (core_ < 0) return Part::unknown;
  const auto goes_on = [this](int32_t each) { return is_on_the_way(each) || is_kind(each, OpKind::sum); };
  for (const int32_t each : flow_.upstream(op, leaves_, goes_on))
    if (is_kind(each, OpKind::product))
      if (const Part part = part_of(each); part != Part::unknown && part != Part::output) return part;
  return Part::unknown;
}

std::vector<LayerFlow::Part> LayerFlow::parts_behind(int32_t op) const {
  std::vector<Part> parts;
  if (core_ < 0) return parts;
  for (const int32_t each : flow_.downstream(op, leaves_, [this](int32_t at) { return is_on_the_way(at); })) {
    if (is_kind(each, OpKind::dispatch)) parts.push_back(Part::experts);
    if (is_kind(each, OpKind::product)) parts.push_back(part_of(each));
  }
  return parts;
}

bool LayerFlow::is_term(int32_t op) const {
  if (!is_small_) return false;
  const auto is_of_one_rank = [this](int32_t all_reduce) {
    return std::ranges::any_of(tree_.at(all_reduce).params, [](const OpParam& param) {
      return param.key == "rankSize" && param.values == std::vector{Value(int64_t{1})};
    });
  };
  const auto keeps_terms = [this](int32_t at) {
    const OpKind kind = tree_.at(at).kind;
    return kind == OpKind::combine || kind == OpKind::sum || kind == OpKind::cast || hands_on(kind);
  };
  const Ops behind = flow_.downstream(op, leaves_, keeps_terms);
  return std::ranges::any_of(
      behind, [&](int32_t at) { return is_kind(at, OpKind::all_reduce) && !is_of_one_rank(at); });
}

std::optional<int> LayerFlow::part_in_core(int32_t value) const {
  if (core_ < 0 || value < 0) return std::nullopt;
  const std::set<int> reached = flow_.inputs_reached(value, core_, leaves_);
  return reached.size() == 1 && *reached.begin() < 3 ? std::optional(*reached.begin()) : std::nullopt;
}

}  // namespace assay
