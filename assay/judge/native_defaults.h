// The default rules as tables and texts: by element type, by place in the model. docs/rules.md shows them as
// users may copy them, with the reasons at length.
#pragma once

#include "assay/judge/judge.h"

namespace assay {

// The type whose steps decide what a difference means: the one with fewer fraction bits. Complex by
// component; an integer against a real follows the real.
DType deciding_dtype(DType a, DType b);

// The same where coarser types may have gone before: what was rounded stays rounded, whatever keeps it now.
DType deciding_dtype_at(DType mine, DType golden, const ModelPlace& place);

// Honest operators hand on 0.5 to 2.2 times the error they are given (measured, see docs/rules.md).
inline constexpr double kHandedOn = 2.5;

// Steps of the deciding type within which every element is as good as equal.
int ulps_allowed(DType mine, DType golden, const ModelPlace& place);

// Bound of the relative error of a whole tensor of these types at this place; 0 for integers, which are
// exact.
double relative_bound(DType mine, DType golden, const ModelPlace& place);

}  // namespace assay
