// Pairs of which one side keeps the smallest and the largest element only: the same two of the other side are
// what can be held against them.
#pragma once

#include "assay/model/pairing.h"

namespace assay {

// Where the matcher has said nothing else about a pair.
void attach_extremes(const Indexed& frames, Pairing& pairing);

}  // namespace assay
