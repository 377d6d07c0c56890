// One layer of a decoder as its values have it: what comes before the attention, what behind it, what goes to
// experts.
#pragma once

#include "assay/match/ops/value_flow.h"

#include <optional>

namespace assay {

class LayerFlow {
 public:
  using Ops = ValueFlow::Ops;

  // Both outlive this.
  LayerFlow(const Graph& tree, const ValueFlow& flow, int32_t layer);

  // Which of the projections of a layer a product is.
  enum class Part : uint8_t { unknown, projection, output, router, experts, shared, mlp };
  Part part_of(int32_t product) const;
  // … of the product that comes before an operator, with nothing in between but a bias and what is done
  // element by element.
  Part part_before(int32_t op) const;
  // … and of those that come behind it.
  std::vector<Part> parts_behind(int32_t op) const;
  // Which input of the attention a value gets to: 0, 1 or 2.
  std::optional<int> part_in_core(int32_t value) const;

  const Ops& leaves() const { return leaves_; }
  bool has_core() const { return core_ >= 0; }
  bool has_experts() const { return dispatch_ >= 0; }
  bool is_in_experts(int32_t op) const { return in_experts_.contains(op); }
  bool is_before_core(int32_t op) const { return before_core_.contains(op); }
  int32_t combine() const { return combine_; }  // -1: none
  // What an operator gives is one term of several, which the ranks add up later, perhaps after others were
  // added to it.
  bool is_term(int32_t op) const;

 private:
  bool is_kind(int32_t op, OpKind kind) const { return tree_.at(op).kind == kind; }
  bool is_on_the_way(int32_t op) const;
  bool leaves_layer(int32_t op) const;

  const Graph& tree_;
  const ValueFlow& flow_;
  const int32_t top_;
  Ops leaves_;
  bool is_small_ = true;
  int32_t core_ = -1, dispatch_ = -1, combine_ = -1;
  Ops before_core_, behind_core_, before_dispatch_, in_experts_;
};

}  // namespace assay
