// What the graph of a compiled model says of the operators that ran: which results their inputs are, and
// which types their numbers went through.
#pragma once

#include "assay/model/origins.h"
#include "assay/model/pairing.h"

#include <vector>

namespace assay {

class RunGraph {
 public:
  // The frame has a graph, and outlives this.
  explicit RunGraph(const Frame& frame) : frame_(frame), graph_(*frame.graph) {}

  // Of each node of the frame, the coarsest real type of its own tensors and of those it is computed from.
  std::vector<DType> coarsest_types() const;

  // Of the inputs of a node, by its number in the frame; paired: where the nodes of the frame stand in the
  // pairing, -1 for those that do not. In the order of ports; empty where nothing tells which input is which.
  std::vector<InputSource> sources_of(size_t node, const std::vector<int32_t>& paired,
                                      const Pairing& pairing) const;

  // Whether an input of a node is a constant of the graph, perhaps in another shape or layout.
  bool is_constant(size_t node, int32_t port) const;

 private:
  struct Input {
    int32_t port;
    const GraphInput* from;
  };
  std::vector<Input> inputs_of(size_t node) const;  // as sources_of() has them
  InputSource trace(const GraphInput& input, const std::vector<int32_t>& paired,
                    const Pairing& pairing) const;
  bool has_partner(const PairedNode& node, int output) const;

  const Frame& frame_;
  const Graph& graph_;
};

}  // namespace assay
