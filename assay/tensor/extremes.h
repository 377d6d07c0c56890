// The smallest and the largest element of a tensor, exactly and in its own type.
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/operand.h"

#include <array>

namespace assay {

// As NumPy's min() and max(): NaN where any element is NaN; complex numbers are ordered by their real parts,
// then by their imaginary ones.
struct Extremes {
  DType dtype = DType::f64;
  bool is_empty = true;  // the tensor has no elements: min and max mean nothing
  std::array<std::byte, 16> min = {}, max = {};
};

Result<Extremes> gather_extremes(const Operand& operand);

}  // namespace assay
