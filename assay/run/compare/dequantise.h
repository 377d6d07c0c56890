// Which tensors of a dump make an int8 tensor of it real: the scale and the offset that the operator which
// quantised it was given.
#pragma once

#include "assay/model/graph.h"
#include "assay/model/outcome.h"
#include "assay/model/pairing.h"

namespace assay {

// The side of int8 where the other one is of a real type and that is to be expected.
std::optional<Side> side_to_dequantise(const Pairing& pairing, const TensorMeta& mine,
                                       const TensorMeta& golden);
// The row says why int8 and a real type are not compared, and is not held against either side.
void refuse_int8(Comparison& row, std::string_view why);

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

}  // namespace assay
