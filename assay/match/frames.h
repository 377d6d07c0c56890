// Which frames are compared with each other.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// One frame on each side: these two, wherever they were taken. Otherwise frames of the same rank, step, graph
// and token; a frame that only one side has is a section with an empty side, at its place.
Result<std::vector<Section>> sections_by_at(const Dump& mine, const Dump& golden,
                                            const MatchOptions& options);

}  // namespace assay
