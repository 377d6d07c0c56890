// The order of execution: where golden alone states it, and whether anything does.
#pragma once

#include "assay/model/pairing.h"

namespace assay {

// Nodes of mine take the places of those of golden that have their names; one that golden does not have stays
// behind the node before it. Nothing is done where mine states an order itself, or golden does not.
void follow_stated_order(Indexed& frames);

// Whether the order of the nodes of mine is one of execution: it is stated, or numbers in all the names tell
// it.
bool has_known_order(const Indexed& frames);

}  // namespace assay
