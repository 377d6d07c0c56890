// Rows of int8 that nothing makes real.
#pragma once

#include "assay/model/outcome.h"
#include "assay/model/pairing.h"

namespace assay {

// One side holds int8, the other real numbers, and that was to be expected.
bool is_left_quantised(const Pairing& pairing, const TensorMeta& mine, const TensorMeta& golden);
// The row says why int8 and a real type are not compared, and is not held against either side.
void refuse_int8(Comparison& row, std::string_view why);

}  // namespace assay
