// Dumps of compiled graphs (TorchAir): traced back to the eager graph, or to a run without fusion.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

extern const Matcher ge_fx_matcher;      // operators of the graph engine with nodes of the FX graph
extern const Matcher ge_fusion_matcher;  // two runs of the graph engine, with and without fusion

}  // namespace assay
