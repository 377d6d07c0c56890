// Matching of names that differ in their call numbers: Torch.add.3.forward with Torch.add.5.forward.
#pragma once

#include "assay/match/keyed/keyed.h"

namespace assay {

Result<Pairing> match_fuzzily(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                              const MatchOptions& options);

void join_aligned(PairingBuilder& builder, const Keys& keys);

extern const Matcher fuzzy_matcher;  // "fuzzy"

}  // namespace assay
