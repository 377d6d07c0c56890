// Pairs items of equal names, for dumps whose names are complete as they stand: those of msprobe, and kernel
// dumps of MindSpore.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher entry_matcher;  // "entry"
}  // namespace assay
