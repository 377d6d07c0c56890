// How the two sides of a pair of a section are laid alike.
#pragma once

#include "assay/model/pairing.h"
#include "assay/run/compare/made.h"

namespace assay {

class PairAligner {
 public:
  explicit PairAligner(const Matched& matched);  // outlives this

  // Nothing where the shapes do not fit.
  Result<std::optional<Aligned>> align(const Made& mine, const Made& golden, const Pair& pair) const;
  // Whether the data may tell how shapes that differ fit.
  bool may_be_rearranged(const Pair& pair, const Made& mine, const Made& golden) const;
  // The sides have other numbers of ranks: the first rank of one stands for all of them.
  bool stands_for_ranks(const Pair& pair) const;

 private:
  const Matched& matched_;
  // Dumps of operators on both sides: two systems may lay out the same tensor with other dimensions.
  bool has_trees_ = true;
};

// Each rank holds all of it.
bool has_copies_of(Side side, const Made& made, const Aligned& aligned);

}  // namespace assay
