// What a file holds that its statistics would not cover.
#pragma once

#include "assay/format/format.h"

#include <optional>

namespace assay {

// In words, for a message; nothing where statistics of the tensors cover the file. Padding that is all zeros
// is nothing: to know that, its bytes are read.
Result<std::optional<std::string>> find_uncovered(const std::shared_ptr<const File>& file,
                                                  const TensorSet& set);

}  // namespace assay
