// metric/bounded.h on all cores.
#pragma once

#include "assay/metric/bounded.h"

namespace assay {

// Both have as many elements.
Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected);

}  // namespace assay
