// Copies of tensors that ranks of a checkpoint lack.
#pragma once

#include "assay/base/remark.h"
#include "assay/match/pairing_builder.h"

namespace assay {

// What ranks hold shares of shows by its size that one is missing; of what each holds whole, the other ranks
// show nothing of it. Precondition: the sides have other numbers of ranks, so that no row tells of it either.
void note_lost_copies(const PairingBuilder& builder, Side side, Remarks& remarks);

}  // namespace assay
