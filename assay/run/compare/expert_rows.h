// What the experts of a block were given and gave, all together.
#pragma once

#include "assay/tensor/operand.h"

#include <span>

namespace assay {

// The rows of all experts, one expert behind the other. Torch may hand them to an expert in another order
// than that of the tokens, ATB does not: `inputs`, what each expert was given, is looked up in `all`, what
// the block was given, and each expert's rows are put in that order. Without these, and where a row is not
// found, they stay as they are.
Result<OperandPtr> rows_of_experts(std::span<const OperandPtr> experts, std::span<const OperandPtr> inputs,
                                   const OperandPtr& all);

}  // namespace assay
