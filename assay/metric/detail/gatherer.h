// The pass itself: a band of a pair, as metric/band.h has it for the common pass.
#pragma once

#include "assay/metric/band.h"
#include "assay/metric/detail/sums.h"

namespace assay::detail {

// Elements [first, first + count): first is a multiple of kBandElements, count at most that. Bands are merged
// in order; the answer is the same for every way of sharing them out.
Result<DetailSums> gather_detail(const Operand& mine, const Operand& golden, const Walk& walk,
                                 const DetailStart& start, int64_t first, int64_t count,
                                 PairScratch& scratch);

}  // namespace assay::detail
