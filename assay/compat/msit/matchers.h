// How msit pairs tensors.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

extern const Matcher msit_matcher;    // as msit llm compare does, with its duplicates
extern const Matcher weight_matcher;  // float weights of a checkpoint with the int8 ones of another

}  // namespace assay
