// Whether a dump of fewer ranks than the other is that of another run, or one of which ranks were lost.
#pragma once

#include "assay/model/pairing.h"

namespace assay {

// Where one side has more ranks, and still no tensor of a rank is a part of one of the other side: warns.
void note_missing_ranks(Matched& matched);

}  // namespace assay
