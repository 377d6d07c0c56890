// What ran, as a graph: the nodes of a frame in the order in which they did, and what they ran in.
#pragma once

#include "assay/model/dump.h"
#include "assay/model/graph.h"

#include <unordered_map>

namespace assay {

// The nodes must be all there. Names stay where the frame keeps them: a trace belongs to its frame.
class TraceBuilder {
 public:
  TraceBuilder(Frame& frame, OpKind (*kind)(const Node& node));
  // By name, of several nodes the first. A parent that was not dumped is an operator too; a name that is no
  // node's is passed over.
  void set_parent(std::string_view node, std::string_view parent);
  void finish();  // sets Frame::graph

 private:
  Frame& frame_;
  OpKind (*const kind_)(const Node& node);
  // Filled by the first parent that is set.
  std::vector<int32_t> parents_;                          // of the nodes
  std::vector<std::string_view> outside_;                 // those that were not dumped
  std::unordered_map<std::string_view, int32_t> places_;  // of both among the operators
};

}  // namespace assay
