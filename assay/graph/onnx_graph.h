// What is drawn of a topology, in the form that ONNX asks for: every tensor is written once, and before it is
// read. ATB writes in place (a tensor is an input and an output of the same operation) and uses buffers
// again, so one name of the file may stand for several tensors here: x, x#2.
#pragma once

#include "assay/graph/atb_topology.h"
#include "assay/model/graph.h"

namespace assay {

// The operations of one level: between an operator that gives the inputs of the topology, the first, and one
// that takes its outputs, the last. `level`: see write_onnx. The topology has to outlive it.
Graph graph_of_level(const AtbTopology& topology, int level);

struct OnnxNode {
  int32_t op;                      // of the graph
  std::vector<int32_t> ins, outs;  // in OnnxTensors::names; -1: an operand without a name
};

struct OnnxTensors {
  std::vector<std::string> names;  // unique, printable, not empty; a value of the graph has its own number
  std::vector<OnnxNode> nodes;     // none reads what a later one writes
  std::vector<int32_t> inputs;     // of the graph: those of the topology, and what nothing writes
  std::vector<int32_t> outputs;
  std::vector<std::string> warnings;
};

// `graph` as graph_of_level makes it.
OnnxTensors tensors_of(const Graph& graph, const AtbTopology& topology);

}  // namespace assay
