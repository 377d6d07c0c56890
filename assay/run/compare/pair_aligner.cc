#include "assay/run/compare/pair_aligner.h"

#include "assay/model/graph.h"

namespace assay {

PairAligner::PairAligner(const Matched& matched) : matched_(matched) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side)) has_trees_ &= !frame.tree().ops.empty();
}

Result<std::optional<Aligned>> PairAligner::align(const Made& mine, const Made& golden,
                                                  const Pair& pair) const {
  AlignRules rules;
  // Operators of ATB write [tokens, heads · width] where others write [tokens, heads, width].
  rules.merge = has_trees_ || matched_.pairing.graphs_differ || golden.expected != nullptr;
  rules.flatten = matched_.pairing.flattens;
  // A table that numbers its pairs is another tool's, which leaves such pairs out.
  rules.last_row = pair.why == Why::last_output && pair.number < 0;
  rules.repeat = matched_.pairing.repeats_batch;
  return assay::align(mine, golden, rules);
}

bool PairAligner::may_be_rearranged(const Pair& pair, const Made& mine, const Made& golden) const {
  return matched_.pairing.rearranges && (pair.plan(Side::mine) == nullptr) &&
         (pair.plan(Side::golden) == nullptr) && mine.ranks() == 1 && golden.ranks() == 1;
}

bool PairAligner::stands_for_ranks(const Pair& pair) const {
  return matched_.frames.frame(Side::mine, *pair.mine).at.rank < 0 &&
         matched_.frames.frame(pair.golden_side(), *pair.golden).at.rank < 0;
}

bool has_copies_of(Side side, const Made& made, const Aligned& aligned) {
  return made.ranks() > 1 && !(side == Side::mine ? aligned.mine_joined : aligned.golden_joined);
}

}  // namespace assay
