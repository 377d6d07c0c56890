// Call numbers of backward entries. Recomputation makes a framework count them in ways that two runs need not
// share; the order in which they appear is the same.
#pragma once

#include "assay/match/keyed/keyed.h"

namespace assay {

// The calls of each backward entry are counted anew from 0, in the keys of both sides.
// golden_keys: by position in golden; new texts go to the pool of `keys`.
void renumber_backward(const PairingBuilder& builder, Keys& keys, std::vector<std::string_view>& golden_keys);

}  // namespace assay
