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

// What a compiler puts together rounds at other places than the nodes it started from.
inline constexpr double kCompiled = 2;

// One run in int8: three quarters of the length wrong is where a tensor is no longer the same one.
inline constexpr double kQuantisedMost = 0.75;

// Steps of the deciding type within which every element is as good as equal.
int ulps_allowed(DType mine, DType golden, const ModelPlace& place);

// Bound of the relative error of a whole tensor of these types at this place; 0 for integers, which are
// exact.
double relative_bound(DType mine, DType golden, const ModelPlace& place);

}  // namespace assay
