// Operators of one type in a round, apart from any frame: what another rank ran, of which this one has no
// tensors.
#pragma once

#include "assay/base/path_kind.h"
#include "assay/base/result.h"

#include <string_view>
#include <vector>

namespace assay {

// The folders of the operators of a type, in the order in which they ran.
std::vector<fs::path> atb_operators_of(const fs::path& round, std::string_view type);

// The file of an input: as it was before the operator ran, if that was dumped.
Result<fs::path> atb_input_file(const fs::path& op, int number);

}  // namespace assay
