// Quantised weights made real again.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// (source - offset) * scale, element by element. Both steps are rounded to the type of the result, the wider
// one of offset and scale, as torch does it. All three have one shape (else an error), and none is complex.
Result<OperandPtr> affine(OperandPtr source, OperandPtr offset, OperandPtr scale);

}  // namespace assay
