// Writes what torch.save would.
#pragma once

#include "assay/format/format.h"

namespace assay {

// One tensor without a name, or a dict of tensors by name.
Result<void> write_pt(FileWriter& out, std::span<const StoredTensor> tensors);

// Each in its place among the containers; None stands in the places of lists that are left out.
// Precondition: both come in the order of their nests.
Result<void> write_nested_pt(FileWriter& out, std::span<const StoredTensor> tensors,
                             std::span<const StoredValue> values);

}  // namespace assay
