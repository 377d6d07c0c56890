// Writes what torch.save would: one tensor without a name, or a dict of tensors by name.
#pragma once

#include "assay/format/format.h"

namespace assay {

Result<void> write_pt(FileWriter& out, std::span<const StoredTensor> tensors);

}  // namespace assay
