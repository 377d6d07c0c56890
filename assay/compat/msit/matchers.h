// How msit pairs tensors. A matcher that numbers its pairs counts on from section to section: one serves one
// comparison.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

struct MsitMatching {
  std::vector<std::string> levels;  // layer, module, api: every section once for each
  bool repeats_batch = false;       // the smaller of two batches is repeated, as ait did
};
Matcher msit_matcher(const MsitMatching& matching);  // as msit llm compare does, with its duplicates
Matcher msit_token_matcher();                        // the logits of each token
extern const Matcher msit_file_matcher;              // two files, whatever the shapes of their tensors
extern const Matcher weight_matcher;  // float weights of a checkpoint with the int8 ones of another

// Compiled graphs: with the FX graph, or with another run of the graph engine.
Matcher msit_ge_fx_matcher();
Matcher msit_ge_fusion_matcher();

}  // namespace assay
