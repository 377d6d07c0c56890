// What need not be read, since it is in memory already.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

// All elements, where they lie for as long as the operand does (dense_in_memory, dense_in_borrowed_memory);
// null for other operands.
const std::byte* in_memory(const Operand& operand);

}  // namespace assay
