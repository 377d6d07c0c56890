// Tensors added up, element by element.
#pragma once

#include "assay/tensor/operand.h"

#include <vector>

namespace assay {

// In f64. All have one shape (else an error), and none is complex.
Result<OperandPtr> summed(std::vector<OperandPtr> terms);

}  // namespace assay
