// The types of one byte or less as tables of all their values.
#pragma once

#include "assay/tensor/dtype.h"

#include <array>

namespace assay {

// The value of every byte; types of fewer bits ignore the bits above theirs. Exact.
// Precondition: size_of(dtype) == 1.
const std::array<float, 256>& values_of(DType dtype);

// The nearest value of a real type of one byte, ties to the even code; beyond the largest value the type's
// own rule. Precondition: size_of(dtype) == 1 and is_real(dtype).
uint8_t encode_small(DType dtype, double value);

}  // namespace assay
