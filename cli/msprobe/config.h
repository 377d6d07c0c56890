// The file of msprobe's --config: tensors that are multiplied by matrices before they are compared.
#pragma once

#include "assay/run/compare/compare.h"

namespace assay::cli {

// right_matmul, left_matmul: {target_tensor_map, golden_tensor_map}; left_right_matmul: the same maps with
// left_ and right_ before them. A map has the file of a matrix and the data files that it is for.
Result<Prepare> read_msprobe_config(const fs::path& path, const FormatOptions& options);

}  // namespace assay::cli
