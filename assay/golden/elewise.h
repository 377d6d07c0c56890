// The types of ElewiseOperation that quantise; the others are in elewise.cc.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

Result<GoldenOutputs> elewise_quant(const GoldenCall& call);                // x · scale + offset
Result<GoldenOutputs> elewise_quant_per_channel(const GoldenCall& call);    // x / scale + offset
Result<GoldenOutputs> elewise_dequant_per_channel(const GoldenCall& call);  // (y - offset) · scale
Result<GoldenOutputs> elewise_dynamic_quant(const GoldenCall& call);

}  // namespace assay
