// Makes the sides of a pair comparable where the files do not hold them that way: angles of one position,
// whole numbers made real, the parts of a projection joined.
#pragma once

#include "assay/run/compare/align_weight.h"
#include "assay/run/compare/dequantise.h"
#include "assay/run/compare/load.h"

namespace assay {

class RecipeBook {
 public:
  // Both outlive this.
  RecipeBook(const Matched& matched, Loader& loader);

  // What the recipe makes of a tensor of this side as it was loaded.
  Result<OperandPtr> prepare(Side side, const Recipe& recipe, OperandPtr loaded);
  // Both sides of a pair as they can be compared; nothing where they cannot.
  Result<std::optional<Aligned>> align(const Pair& pair, const Spread& mine, const Spread& golden,
                                       const AlignRules& rules);

  // By the scale and offset that the dump holds; every rank has its own.
  Result<Spread> dequantise(Side side, const ItemId& id, const Spread& quantised);

 private:
  // The parts, joined as a tensor spread over `ranks` holds them. Nothing where one is not there or they
  // cannot be cut that way.
  Result<std::optional<OperandPtr>> join(const Recipe& recipe, int64_t ranks);
  Result<std::optional<Aligned>> align_parts(const Recipe& recipe, const Spread& mine, const Spread& golden,
                                             const AlignRules& rules);
  Result<std::optional<Aligned>> align_shares(const Recipe& recipe, const Spread& mine, const Spread& golden);
  Result<std::optional<std::vector<OperandPtr>>> load_parts(const Recipe& recipe);
  Result<OperandPtr> weight(const QuantisedBy& by, OperandPtr quantised);
  Result<OperandPtr> angles(Side side, const RopeRow& rope, OperandPtr data);
  // As many as there are sequences; nothing where that cannot be told.
  Result<std::vector<int64_t>> lengths(Side side, const ItemId& id);

  const Matched& matched_;
  Loader& loader_;
  std::vector<QuantSources> quantised_mine_, quantised_golden_;  // by frame, where they are asked for
};

}  // namespace assay
