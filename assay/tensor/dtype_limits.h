// Where the numbers of a real type end.
#pragma once

#include "assay/tensor/dtype.h"

namespace assay {

struct RealLimits {
  double largest;       // finite
  double least_normal;  // positive; what is smaller has fewer digits. 0: the type has no such numbers
};

// Of a component of a complex type. Zeros of types that are not real.
RealLimits limits_of(DType dtype);

}  // namespace assay
