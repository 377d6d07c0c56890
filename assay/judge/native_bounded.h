// Verdict of a tensor against what its operator should have given.
#pragma once

#include "assay/judge/judge.h"

namespace assay {

// One element that rounding does not explain fails the row, however many others there are.
// Precondition: row.bounded.
Verdict judge_bounded(const Comparison& row);

}  // namespace assay
