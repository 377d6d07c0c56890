// Details of the rows of a section, when they are asked for: both sides are opened and laid alike once more.
#pragma once

#include "assay/run/compare/detail.h"
#include "assay/run/compare/pair_aligner.h"
#include "assay/run/compare/side_taker.h"

namespace assay {

// Any thread.
class RowDetails {
 public:
  // Both outlive this.
  RowDetails(const Matched& matched, Loader& loader);

  // Of a pair that the section has. Nothing where its elements cannot be held against each other, where an
  // operator has to be run for it, or where every rank has a copy and the row is that of the worst.
  // known: what was gathered of the pair, if that is at hand.
  Result<std::optional<Detail>> read(const Pair& pair, const DetailOptions& options, PairScratch& scratch,
                                     Progress& progress, const PairSums* known = nullptr);

 private:
  const Matched& matched_;
  const Prepare nothing_;
  SideTaker sides_;
  const PairAligner aligner_;
};

}  // namespace assay
