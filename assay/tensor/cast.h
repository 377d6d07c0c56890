// A tensor converted to another element type while it is read.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// Values rounded to nearest even (integers truncate and saturate). Complex to real is refused; real to
// complex adds zeros.
Result<OperandPtr> cast(OperandPtr source, DType to);

}  // namespace assay
