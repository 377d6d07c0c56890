// The elements of a tensor as most formats hold them: row-major, little-endian, types of fewer than 8 bits
// packed.
#pragma once

#include "assay/base/file.h"
#include "assay/tensor/operand.h"

namespace assay {

// Appends packed_size(dtype, count) bytes.
Result<void> append_data(FileWriter& out, const Operand& tensor);

}  // namespace assay
