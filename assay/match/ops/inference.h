// Dumps of inference: operators of ATB, modules of torch.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

extern const Matcher atb_torch_matcher;  // by the role an operator plays in the model
extern const Matcher
    atb_atb_matcher;                 // by its place in the graph; what quantisation inserted is stepped over
extern const Matcher token_matcher;  // the last output of every token: its logits

}  // namespace assay
