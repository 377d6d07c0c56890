// A tensor of small integers as the real numbers it stands for: (q - offset) * scale.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// In f32. `scale` and `offset` (null: 0) have one element, or one for each index of the last dimension.
Result<OperandPtr> dequantized(OperandPtr quantised, const OperandPtr& scale, const OperandPtr& offset);

}  // namespace assay
