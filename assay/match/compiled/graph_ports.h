// Which tensor of the graph as it was written each tensor of an engine's dump is, so that two engines which
// fused it differently can be held against each other.
#pragma once

#include "assay/match/compiled/torchair_pairs.h"
#include "assay/model/graph.h"

#include <map>
#include <tuple>

namespace assay {

// Input or output number `index` of an operator of the graph.
struct GraphPort {
  std::string_view op;  // empty: not known
  Direction direction;
  int index;
  friend auto operator<=>(const GraphPort&, const GraphPort&) = default;
};

struct PlacedOp {
  std::vector<std::string_view> parts;     // operators of the graph; its own name where that has none
  std::vector<GraphPort> inputs, outputs;  // as many as were dumped, one by one …
  bool inputs_fit = true;                  // … or else what inputs there could be, in order
  bool is_of_graph = true;                 // or put in by the compiler
};

// One side of a pair of frames. Without a graph, operators are what they are called.
class GraphPorts {
 public:
  GraphPorts(const GraphOps& ops, const Graph* graph);

  const PlacedOp& at(const GraphOps::Op& op) const;
  size_t find(const GraphPort& place) const;  // position of the tensor; kNotDumped
  std::vector<size_t> find(const std::vector<GraphPort>& places) const;

 private:
  const GraphOps& ops_;
  std::vector<PlacedOp> placed_;  // like GraphOps::all
  std::map<GraphPort, size_t> positions_;
};

}  // namespace assay
