// What a tensor was rounded to before it was kept in a wider type: bf16 activations saved as f32, say.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// The coarser type (bf16 or f16; of f64 also f32) that holds all finite elements exactly, of an f32 or f64
// tensor. Nothing where there is none, where the tensor is too small or too plain to tell (ones, masks,
// halves are exact in any type), and where all elements are whole numbers, which nobody rounded.
// Stops reading at the first block that shows there is none.
Result<std::optional<DType>> find_rounded_type(const Operand& operand, Scratch& scratch);

}  // namespace assay
