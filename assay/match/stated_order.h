// The order of execution, where golden alone states it.
#pragma once

#include "assay/model/pairing.h"

namespace assay {

// Nodes of mine take the places of those of golden that have their names; one that golden does not have stays
// behind the node before it. Nothing is done where mine states an order itself, or golden does not.
void follow_stated_order(Indexed& frames);

}  // namespace assay
