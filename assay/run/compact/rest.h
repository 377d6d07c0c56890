// What a file holds that its statistics would not cover.
#pragma once

#include "assay/format/format.h"

#include <optional>

namespace assay {

// The first of it; nothing where statistics of the tensors cover the file. Padding that is all zeros
// is nothing: to know that, its bytes are read. `with_facts`: what takes its place has the facts too.
Result<std::optional<Beside>> find_uncovered(const std::shared_ptr<const File>& file, const TensorSet& set,
                                             bool with_facts);

}  // namespace assay
