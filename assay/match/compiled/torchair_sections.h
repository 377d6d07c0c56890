// Which frames of two TorchAir dumps are compared: ranks, graphs and tokens, however each side numbers them.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// Graphs are the same if they share number and names; names decide where they say something else.
Result<std::vector<Section>> sections_by_graph(const Dump& mine, const Dump& golden,
                                               const MatchOptions& options);

}  // namespace assay
