// statistics.csv of a module in a dump of msit's hooks: a row for each tensor, beside the files or instead of
// them. docs/formats/torch_hook.md
#pragma once

#include "assay/dump/op_folders.h"

namespace assay {

inline constexpr std::string_view kHookStatistics = "statistics.csv";

// In the order of the rows. Trouble where a row has something else than numbers in their place. Rows that
// make no sense are left out with a warning.
Result<std::vector<OpFile>> read_hook_table(const fs::path& path, const std::string& module,
                                            Remarks& warnings);

}  // namespace assay
