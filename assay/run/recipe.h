// Makes the sides of a pair comparable where the files do not hold them that way: angles of one position,
// whole numbers made real, the parts of a projection joined.
#pragma once

#include "assay/run/align.h"
#include "assay/run/dequantise.h"
#include "assay/run/load.h"

namespace assay {

class RecipeBook {
 public:
  // Both outlive this.
  RecipeBook(const Matched& matched, Loader& loader);

  // What the recipe makes of a tensor of this side as it was loaded.
  Result<OperandPtr> prepare(Side side, const Recipe& recipe, OperandPtr loaded);
  // The parts, joined as a tensor spread over `ranks` holds them. Nothing where one is not there or they
  // cannot be cut that way.
  Result<std::optional<OperandPtr>> join(const Recipe& recipe, int64_t ranks);

  // By the scale and offset that the dump holds; every rank has its own.
  Result<Spread> dequantise(Side side, const ItemId& id, const Spread& quantised);

 private:
  Result<OperandPtr> weight(const QuantisedBy& by, OperandPtr quantised);
  Result<OperandPtr> angles(Side side, const RopeRow& rope, OperandPtr data);

  const Matched& matched_;
  Loader& loader_;
  std::vector<QuantSources> quantised_mine_, quantised_golden_;  // by frame, where they are asked for
};

}  // namespace assay
