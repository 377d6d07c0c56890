// Statistics of a tensor as NumPy gives them: max, min, mean and linalg.norm of all elements.
#pragma once

#include "assay/metric/one_side.h"
#include "assay/model/value.h"

namespace assay {

// NaN and infinities propagate. Reals of fewer than 64 bits come out rounded to their type, as does the sum
// of squares before its root is taken: the norm of large f16 values is infinite. max and min of integers are
// integers, of truth values truth values. All four are absent for an empty tensor, and for a complex one all
// but the norm. Elements that are not finite are counted, of a complex tensor components;
// where there are such, the same of the others alone is in `nonfinite`.
Stats numpy_statistics(const OneSide& side, DType dtype);

// The same, with mean and norm as exact as f64 has them: the norm of f16 values does not overflow.
Stats exact_statistics(const OneSide& side, DType dtype);

// Of integers of 64 bits f64 does not hold all: reads the tensor once more and states their max and min as
// they are. Those of u64 beyond the range of i64 are texts of digits. Other types are left as they are.
Result<void> add_exact_extremes(const Operand& data, Stats& stats);

}  // namespace assay
