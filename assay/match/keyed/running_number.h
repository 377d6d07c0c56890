// Files that are numbered as they were written: "01_embed", "02_norm". One file more on one side shifts the
// numbers of all that follow; their names without the numbers still tell which belong together, in order.
#pragma once

#include "assay/base/remark.h"
#include "assay/match/pairing_builder.h"

namespace assay {

// Does nothing where names as they stand leave nothing that could be paired so.
void join_renumbered(PairingBuilder& builder, Remarks& remarks);

}  // namespace assay
