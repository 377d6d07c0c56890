// Matching of names that differ in their call numbers: Torch.add.3.forward with Torch.add.5.forward.
#pragma once

#include "assay/match/keyed/keyed.h"

namespace assay {

// options.fuzzy_in_turn: as msprobe does, row by row; otherwise whole entries are aligned, see
// fuzzy_align.cc.
Result<Pairing> match_fuzzily(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                              const MatchOptions& options);

void join_in_turn(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                  const MatchOptions& options);
void join_aligned(PairingBuilder& builder, const Keys& keys);

// The name that msprobe compares in its fuzzy mode. It cuts off the two pieces before the first "forward"
// (else "backward"), wherever that stands: the call number of an API, but the class of a module, whose number
// comes later. `out` is overwritten.
void strip_as_msprobe(std::string_view name, std::string& out);

extern const Matcher fuzzy_matcher;  // "fuzzy"

}  // namespace assay
