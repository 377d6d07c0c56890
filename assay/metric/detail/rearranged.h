// Whether mine holds golden's elements at other places: shifted, transposed, halves or heads exchanged.
#pragma once

#include "assay/metric/detail/picture.h"

#include <optional>

namespace assay::detail {

// Tried on elements spread over the whole tensor. Nothing where no rearrangement fits, or where one element
// cannot be read without many others.
Result<std::optional<Diagnosis>> find_rearrangement(const Operand& mine, const Operand& golden,
                                                    const Looked& looked);

}  // namespace assay::detail
