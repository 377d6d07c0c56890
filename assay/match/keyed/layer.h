// Pairs entries by their place in the model: the same layer under its name in golden, the k-th call there
// with the k-th. The place comes from the names of modules, from construct.json and from call stacks.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher layer_matcher;  // "layer"
}  // namespace assay
