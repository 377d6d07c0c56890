// How far a tensor is from what it should hold, in units of what honest arithmetic may be off at each
// element.
#pragma once

#include "assay/model/bounded.h"
#include "assay/tensor/expected.h"

namespace assay {

struct BoundedScratch {
  Scratch mine, value, allowed, known;
};

// Of elements [first, first + count), which both have.
Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected, int64_t first, int64_t count,
                               BoundedScratch& scratch);

}  // namespace assay
