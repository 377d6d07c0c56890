// What GE writes of an operator instead of its tensors with dump_data = "stats": one row of statistics for
// each. The file: docs/formats/ge_stats.md
#pragma once

#include "assay/dump/items.h"

namespace assay {

struct GeStatedTensor {
  Port port;
  // "input.0", "output.1"; of stats and facts only what the row has numbers for. Trouble where a cell is
  // none, or the count is not that of the shape.
  TensorDraft draft;
};

bool is_ge_stats_csv(const fs::path& file);  // by its titles

// In the order of the rows; of two rows for one tensor the last counts. Rows that make no sense are left out
// with a warning.
Result<std::vector<GeStatedTensor>> read_ge_stats_csv(const fs::path& file, Remarks& warnings);

}  // namespace assay
