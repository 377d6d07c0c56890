// Tensors times matrices.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// As numpy's matmul: the last two dimensions are multiplied, those before them are repeated where one side
// has none or one of them; a vector is a row on the left and a column on the right, and is one again in the
// result. Computed in f64 and rounded to the wider type of two real ones (bf16 counts as f32); f64 where one
// is a whole number. An error where shapes do not fit, a side is a single number or complex, or the result
// takes more than `limit` bytes.
Result<OperandPtr> matrix_product(const OperandPtr& left, const OperandPtr& right, int64_t limit);

// Without its dimensions of size 1, as numpy's squeeze.
OperandPtr squeezed(OperandPtr data);

}  // namespace assay
