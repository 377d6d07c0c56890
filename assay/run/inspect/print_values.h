// A tensor as text, the way NumPy prints an array: brackets, aligned columns, at most eight digits behind the
// point, and dots in place of the middle where there are more than 1000 elements.
#pragma once

#include "assay/tensor/operand.h"

#include <string>

namespace assay {

// Several lines without a final line break. Reads only what is shown. A tensor of very many dimensions is
// printed as a row of numbers, with a line that says so.
Result<std::string> print_values(const Operand& operand);

}  // namespace assay
