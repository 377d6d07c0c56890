// What the graph of a compiled model says of the operators that ran: which results their inputs are, and
// which types their numbers went through.
#pragma once

#include "assay/model/ge_origins.h"
#include "assay/model/pairing.h"

#include <vector>

namespace assay {

class RunGraph {
 public:
  // The frame has a graph, and outlives this.
  explicit RunGraph(const Frame& frame);

  // Of each node of the frame, the coarsest real type of its own tensors and of those it is computed from.
  std::vector<DType> coarsest_types() const;

  // Of the inputs of a node, by its number in the frame; paired: where the nodes of the frame stand in the
  // pairing, -1 for those that do not. In the order of ports; empty where nothing tells which input is which.
  std::vector<InputSource> sources_of(size_t node, const std::vector<int32_t>& paired,
                                      const Pairing& pairing) const;

 private:
  struct Owner {
    int32_t node = -1;     // that the operator ran in
    bool is_last = false;  // of those fused into it: its results are the node's
  };
  size_t number_of(const GeOp& op) const { return static_cast<size_t>(&op - graph_.ops.data()); }
  InputSource trace(const GeInput& input, const std::vector<int32_t>& paired, const Pairing& pairing) const;
  bool has_partner(const PairedNode& node, int output) const;

  const Frame& frame_;
  const GeGraph& graph_;
  std::vector<std::vector<const GeOp*>> origins_;  // by node
  std::vector<Owner> owners_;                      // by operator of the graph
};

}  // namespace assay
