// The items of an operator in a tree, by what they are.
#pragma once

#include "assay/match/pairing_builder.h"
#include "assay/model/graph.h"

#include <unordered_map>

namespace assay {

// Finds positions in a PairingBuilder. One frame per side.
class OpItems {
 public:
  OpItems(const PairingBuilder& builder, Side side);

  const Graph& tree() const { return frame_.tree(); }
  const Node* node_of(int32_t op) const;
  // An input as it was before the operation, an output as it was after it, where both moments were dumped.
  std::optional<size_t> find(int32_t op, Direction direction, int index) const;
  std::vector<size_t> all(int32_t op, Direction direction) const;    // one per index, in order
  std::vector<size_t> every(int32_t op, Direction direction) const;  // of both moments
  const Item& item(size_t position) const { return builder_.item(side_, position); }

 private:
  const PairingBuilder& builder_;
  const Side side_;
  const Frame& frame_;
  std::vector<size_t> begin_;  // position of the first item, by node
};

}  // namespace assay
