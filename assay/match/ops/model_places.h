// Where the operators of a pairing stand in their model: how deep, and whether one of the runs is quantised
// there; and which pairs are weights or constants, which have nothing behind them. The default rules allow
// for the rounding that a run has behind it by then.
#pragma once

#include "assay/model/pairing.h"

namespace assay {

// Sets PairedNode::place and Pair::is_constant from the trees of both sides; does nothing where a frame has
// none.
void note_model_places(Matched& matched);

}  // namespace assay
