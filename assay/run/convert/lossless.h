// Does a change of the element type lose anything?
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/operand.h"

namespace assay {

// Whether elements of type `to` hold every element of the tensor exactly. Reads all of it where the types do
// not say so by themselves.
Result<bool> is_lossless(const OperandPtr& data, DType to);

}  // namespace assay
