// What a padded tensor holds.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// The first elements of every dimension, as many as `inner` says. A mismatch where any of the others is not
// zero: then they are no padding.
Result<OperandPtr> unpadded(const OperandPtr& whole, const Shape& inner);

}  // namespace assay
