// Which tensors of a dump make an int8 tensor of it real: the scale and the offset that the operator which
// quantised it was given.
#pragma once

#include "assay/model/graph.h"
#include "assay/model/pairing.h"

namespace assay {

// Two items, or what the operator itself states.
struct QuantFactors {
  std::optional<ItemId> scale, offset;
  std::optional<QuantStep> stated = {};
};

class QuantSources {
 public:
  // `number`: of the frame in its section. The frame outlives this.
  QuantSources(const Frame& frame, int32_t number);
  // Nothing where the operator, or what it was given, is not in the dump.
  std::optional<QuantFactors> find(const ItemId& quantised) const;

 private:
  const Item* input(int32_t op, int index) const;  // as it was before the operation, where the dump has that
  ItemId id_of(const Item& item, int32_t op) const;

  const Frame& frame_;
  const int32_t number_;
  const Graph& tree_;
};

// Plans how int8 of one side is made real where the other side is. Where both are int8 and other numbers of
// ranks quantised them, each by its own scale, both are.
class Dequantiser {
 public:
  explicit Dequantiser(const Indexed& frames);  // which outlives this
  void plan(const ItemId& mine, const ItemId& golden, PairPlans& plans) const;

 private:
  void plan(Side side, const ItemId& id, const QuantFactors& factors, PairPlans& plans) const;

  const Indexed& frames_;
  std::vector<QuantSources> mine_, golden_;  // by frame
};

}  // namespace assay
