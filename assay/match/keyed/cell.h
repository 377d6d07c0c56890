// Pairs the cells of MindSpore with the modules of PyTorch: Cell.fc1.Dense.forward.0 with
// Module.fc1.Linear.forward.0, where a mapping says that fc1.Dense is fc1.Linear.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher cell_matcher;  // "cell"
}  // namespace assay
