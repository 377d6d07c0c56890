// The sketch of a tensor, in one pass.
#pragma once

#include "assay/model/sketch.h"

namespace assay {

Result<Sketch> sketch_of(const Operand& operand);

}  // namespace assay
