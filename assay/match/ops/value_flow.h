// Where what an operator gives is used, between operators without others inside: a tree is looked at as if it
// were flat.
#pragma once

#include "assay/model/graph.h"

#include <functional>
#include <set>

namespace assay {

class ValueFlow {
 public:
  using Ops = std::set<int32_t>;
  // Of an operator that is reached: whether to go on behind it.
  using GoesOn = std::function<bool(int32_t op)>;

  explicit ValueFlow(const Graph& tree);  // which outlives this

  // Operators without others inside that take a value, in the order of the graph.
  std::vector<int32_t> takers(int32_t value) const;
  std::vector<int32_t> after(int32_t op) const;   // that take what it gives
  std::vector<int32_t> before(int32_t op) const;  // that give what it takes
  bool is_connected(int32_t op) const { return !after(op).empty() || !before(op).empty(); }

  // All that is computed from what an operator gives, and all that it is computed from, within `within`.
  Ops downstream(int32_t op, const Ops& within, const GoesOn& goes_on = {}) const;
  Ops upstream(int32_t op, const Ops& within, const GoesOn& goes_on = {}) const;

  // The inputs of `op` that a value gets to, perhaps turned, cast or stored on the way, but not multiplied.
  std::set<int> inputs_reached(int32_t value, int32_t op, const Ops& within) const;

 private:
  const Graph& tree_;
  std::vector<std::vector<int32_t>> takers_;  // by value
};

}  // namespace assay
