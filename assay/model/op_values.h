// Which tensors of a graph are one value: what an operator makes, and what the operators behind it take.
#pragma once

#include "assay/model/dump.h"

#include <vector>

namespace assay {

class OpValues {
 public:
  static constexpr int32_t kUnknown = -1;

  explicit OpValues(const OpTree& tree);

  // A number for the value; kUnknown where the topology names no such tensor.
  int32_t of(int32_t op, const Port& port) const;
  // The innermost operator that makes the value; kUnknown: it comes from outside the graph.
  int32_t maker(int32_t value) const { return makers_[static_cast<size_t>(value)]; }
  size_t size() const { return makers_.size(); }

 private:
  struct Ports {
    std::vector<int32_t> inputs, outputs;
  };
  std::vector<Ports> ops_;       // by place in the tree
  std::vector<int32_t> makers_;  // by value
};

}  // namespace assay
