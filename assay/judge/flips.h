// Discrete decisions that differ though nothing is wrong: two candidates were closer to each other than
// rounding.
#pragma once

#include "assay/judge/judge.h"

namespace assay {

class FlipTeller {
 public:
  // names_calls: nodes are calls of functions, and not operators of a graph.
  FlipTeller(const Head& head, bool names_calls);

  // Of a node whose rows were judged: marks the rows of what was chosen.
  void tell(NodeResult& node) const;

 private:
  const bool names_calls_;
  const int max_column_, rms_column_, equal_column_;
};

}  // namespace assay
