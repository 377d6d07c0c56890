// Which token two rows of logits choose.
#pragma once

#include "assay/base/result.h"
#include "assay/model/outcome.h"
#include "assay/tensor/operand.h"

namespace assay {

// Rows are runs of the last dimension; both tensors have as many elements. NaN is never chosen.
Result<ArgMax> compare_arg_max(const Operand& mine, const Operand& golden);

}  // namespace assay
