// Who writes which tensor and who reads it, in the form that ONNX asks for: every tensor is written once, and
// before it is read. ATB writes in place (a tensor is an input and an output of the same operation) and uses
// buffers again, so one name of the file may stand for several tensors here: x, x#2.
#pragma once

#include "assay/graph/atb_topology.h"

#include <span>

namespace assay {

struct FlowNode {
  int32_t op;                      // in AtbTopology::ops
  std::vector<int32_t> ins, outs;  // in TensorFlow::names; -1: an operand without a name
};

struct TensorFlow {
  std::vector<std::string> names;  // of the tensors; unique, printable, not empty
  std::vector<FlowNode> nodes;     // none reads what a later one writes
  std::vector<int32_t> inputs;     // of the graph: those of the topology, and what nothing writes
  std::vector<int32_t> outputs;
  std::vector<std::string> warnings;
};

// `ops` in the order of execution.
TensorFlow follow_tensors(const AtbTopology& topology, std::span<const int32_t> ops);

}  // namespace assay
