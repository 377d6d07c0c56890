// One pair of tensors on all cores.
#pragma once

#include "assay/metric/band.h"
#include "assay/support/progress.h"

namespace assay {

// The same bits as gather_pair on one thread. `small` serves pairs of few bands.
Result<Gathered> gather_parallel(const Operand& mine, const Operand& golden, const GatherPlan& plan,
                                 PairScratch& small, Progress& progress);

}  // namespace assay
