// Pairs the k-th item of mine with the k-th of golden, whatever they are called.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher position_matcher;
}  // namespace assay
