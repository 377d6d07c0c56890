// Whole entries, paired as msprobe 1.1 does on PyTorch.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// Both lists advance by one entry per step and join a queue. Two entries fit where their items have the same
// names (options.fuzzy: but for the call numbers), the same shapes and compatible types; a match discards all
// that waited before the two. Where one queue is empty and the other is not the walk ends for good: what mine
// still has is Why::not_reached. Only inputs and outputs count; msprobe 1.1 knows nothing else.
extern const Matcher entries_in_turn_matcher;  // "entry in turn"

}  // namespace assay
