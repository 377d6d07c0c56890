#include "assay/match/ops/value_flow.h"

#include <algorithm>

namespace assay {
namespace {

void add_once(std::vector<int32_t>& ops, int32_t op) {
  if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
}

// Tensors that are worked on in place, or each by itself: the i-th output is made of the i-th input.
bool keeps_apart(const GraphOp& op) { return op.kind == OpKind::rope || is_atb_cache(op.type); }

using Next = std::function<std::vector<int32_t>(int32_t op)>;

ValueFlow::Ops closure(int32_t op, const ValueFlow::Ops& within, const ValueFlow::GoesOn& goes_on,
                       const Next& next) {
  ValueFlow::Ops found;
  std::vector<int32_t> waiting = {op};
  while (!waiting.empty()) {
    const int32_t at = waiting.back();
    waiting.pop_back();
    if (at != op && goes_on && !goes_on(at)) continue;
    for (const int32_t each : next(at))
      if (within.contains(each) && found.insert(each).second) waiting.push_back(each);
  }
  return found;
}

}  // namespace

ValueFlow::ValueFlow(const Graph& tree) : tree_(tree), takers_(tree.values.size()) {
  for (size_t value = 0; value < tree.values.size(); ++value)
    for (const int32_t op : tree.values[value].consumers)
      if (tree.is_leaf(op)) takers_[value].push_back(op);
}

std::vector<int32_t> ValueFlow::takers(int32_t value) const {
  return value < 0 ? std::vector<int32_t>() : takers_[static_cast<size_t>(value)];
}

std::vector<int32_t> ValueFlow::after(int32_t op) const {
  std::vector<int32_t> found;
  for (const GraphOutput& output : tree_.at(op).outputs)
    for (const int32_t taker : takers(output.value)) add_once(found, taker);
  return found;
}

std::vector<int32_t> ValueFlow::before(int32_t op) const {
  std::vector<int32_t> found;
  for (const GraphInput& input : tree_.at(op).inputs)
    if (const int32_t giver = tree_.producer_of(input.value); giver >= 0) add_once(found, giver);
  return found;
}

ValueFlow::Ops ValueFlow::downstream(int32_t op, const Ops& within, const GoesOn& goes_on) const {
  return closure(op, within, goes_on, [this](int32_t at) { return after(at); });
}

ValueFlow::Ops ValueFlow::upstream(int32_t op, const Ops& within, const GoesOn& goes_on) const {
  return closure(op, within, goes_on, [this](int32_t at) { return before(at); });
}

std::set<int> ValueFlow::inputs_reached(int32_t value, int32_t op, const Ops& within) const {
  std::set<int> reached;
  std::set<int32_t> seen = {value};
  std::vector<int32_t> waiting = {value};
  while (!waiting.empty()) {
    const int32_t at = waiting.back();
    waiting.pop_back();
    for (const int32_t taker : takers(at)) {
      if (!within.contains(taker)) continue;
      const GraphOp& each = tree_.at(taker);
      for (size_t i = 0; i < each.inputs.size(); ++i) {
        if (each.inputs[i].value != at) continue;
        if (taker == op) reached.insert(static_cast<int>(i));
        if (taker == op || multiplies_matrices(each.kind)) continue;
        for (size_t k = 0; k < each.outputs.size(); ++k)
          if (each.outputs[k].value >= 0 && (!keeps_apart(each) || k == i) &&
              seen.insert(each.outputs[k].value).second)
            waiting.push_back(each.outputs[k].value);
      }
    }
  }
  return reached;
}

}  // namespace assay
