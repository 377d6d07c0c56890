// What msit llm opcheck asks of an output, by its type.
#pragma once

#include "assay/tensor/dtype.h"

#include <string>

namespace assay {

struct OpcheckStandard {
  double tolerance = 0;  // of the relative error of an element
  double rate = 0;       // percent of the elements that must be within it, and more
};

// Of ait llm opcheck, its first generation, `is_first`.
OpcheckStandard opcheck_standard(DType dtype, bool is_first = false);
// "99.9%(error<0.0009765625)"
std::string text(const OpcheckStandard& standard);

}  // namespace assay
