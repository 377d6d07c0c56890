// One token of a compiled graph and of the eager graph (FX) that it was made from.
#pragma once

#include "assay/match/compiled/torchair_pairs.h"
#include "assay/model/origins.h"

#include <optional>
#include <set>
#include <unordered_map>

namespace assay {

// Of a pair, `mine` is the tensor of the graph engine.
class GeFx {
 public:
  GeFx(GraphOps ge, GraphOps fx, const Graph& graph);

  const GraphOps& ge() const { return ge_; }
  const GraphOps& fx() const { return fx_; }
  const Graph& graph() const { return graph_; }

  OpPairs pairs_of(const GraphOps::Op& op) const;

  // The node of the eager graph whose result the operator computes.
  const GraphOps::Op* node_of(const GraphOp& op) const;
  // The tensors among the arguments of a node; arguments that are none leave gaps in their numbers.
  std::vector<std::optional<size_t>> arguments(const GraphOps::Op& node) const;
  // Of all its arguments, the tensors; others, and those that are lost, keep their places.
  struct Argument {
    std::optional<size_t> position;
    bool is_lost = false;
  };
  std::vector<Argument> all_arguments(const GraphOps::Op& node) const;
  // Each by its own name. An output without one stands for the result of the same number, unless another
  // operator computes that.
  void pair_outputs(const GraphOps::Op& op, const OutputOrigins& results, Why why,
                    std::vector<TensorPair>& pairs) const;

 private:
  using InputNumbers = std::unordered_map<const GraphInput*, size_t>;  // of the operator that ran

  bool fits(size_t ge, size_t fx) const { return may_be_same(ge_.outline(ge), fx_.outline(fx)); }
  std::vector<Outline> input_outlines(const GraphOps::Op& op, const InputNumbers& numbers,
                                      const GraphOp& origin) const;
  std::vector<std::optional<size_t>> arguments_as_inputs(const GraphOp& origin,
                                                         const std::vector<Outline>& inputs) const;
  bool all_fit(const std::vector<std::optional<size_t>>& list, const std::vector<Outline>& inputs) const;
  bool is_setting(const OuterInput& input, size_t argument) const;
  std::optional<size_t> result_of(const GraphInput& from) const;
  std::optional<size_t> result_named(std::string_view name, int index) const;
  void trace_inputs(const GraphOps::Op& op, const std::vector<int32_t>& origins, Why why,
                    std::vector<TensorPair>& pairs) const;

  const GraphOps ge_, fx_;
  const Graph& graph_;
  std::set<std::pair<std::string_view, int>> computed_;  // results of FX nodes that an operator is known for
};

// The frames of one token: which of the two is the engine's, and its graph.
struct GeFxFrames {
  Side ge_side, fx_side;
  int32_t ge, fx;      // numbers in their sides
  const Graph* graph;  // null: nothing says what the operators come from
};
GeFxFrames ge_and_fx(const Indexed& frames, int32_t mine, int32_t golden);
// Why nothing can be paired where the graph is missing.
std::string no_graph_of(Side ge_side);

}  // namespace assay
