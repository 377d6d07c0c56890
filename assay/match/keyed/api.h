// Pairs a MindSpore dump with a PyTorch dump by their APIs: Mint.add.0.forward with Torch.add.0.forward.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher api_matcher;  // "api"
}  // namespace assay
