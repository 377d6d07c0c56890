// The row of a tensor that several ranks hold: one for all of them, or one for each where some rank fails.
#pragma once

#include "assay/run/compare/load.h"
#include "assay/run/compare/measure.h"
#include "assay/run/compare/row_gatherer.h"

namespace assay {

class RankRows {
 public:
  using MeasurePair = std::function<Comparison(const Pair&)>;  // as if it were the only one of its node

  // All outlive this.
  RankRows(const Matched& matched, Loader& loader, RowGatherer& rows, const RowFlow& flow, bool is_prepared)
      : matched_(matched), loader_(loader), rows_(rows), flow_(flow), is_prepared_(is_prepared) {}

  // Precondition: the pair has ranks.
  std::vector<Comparison> measure(const Pair& pair, const PairedNode& node, const MeasurePair& measure_pair,
                                  PairScratch& scratch);

 private:
  struct Taken {  // of one item
    SideFacts facts;
    OperandPtr data;
  };
  std::optional<Taken> take(Side side, const ItemId& id);
  // Nothing where each rank has to be looked at by itself.
  std::optional<Comparison> put_together(const Pair& pair, const PairedNode& node,
                                         std::optional<DType> rounded_to, PairScratch& scratch);
  // for_other: keeps the tensor of the other side while it is held against every rank.
  std::optional<Comparison> put_together(const Pair& pair, const PairedNode& node,
                                         std::optional<DType> rounded_to, PairScratch& scratch,
                                         Scratch& for_other);
  Comparison row_of_all(const Pair& pair, const MeasurePair& measure_pair,
                        const std::vector<Comparison>& by_rank) const;
  Pair pair_of(const Pair& pair, size_t rank) const;
  // Whether one rule of the user's, or none, is for the rows of all ranks and for that of all together.
  bool have_one_rule(const Pair& pair, const PairedNode& node) const;
  bool all_pass(const PairedNode& node, std::vector<Comparison> rows) const;

  const Matched& matched_;
  Loader& loader_;
  RowGatherer& rows_;
  const RowFlow& flow_;
  const bool is_prepared_;
};

}  // namespace assay
