// statistics.csv of a module in a dump of msit's hooks: a row for each tensor, beside the files or instead of
// them. docs/formats/torch_hook.md
#pragma once

#include "assay/dump/op_folders.h"

namespace assay {

inline constexpr std::string_view kHookStatistics = "statistics.csv";
inline constexpr std::string_view kMoreHookStatistics = "more_statistics.csv";  // of what msit does not see

// The number of all tensors that have a name instead: keyword arguments, what stands in dicts.
inline constexpr int kNamedHookPort = 1 << 20;

// "output" is 0, "output_2" and "output_2_1" are 2; "kwargs.mask", "argument_0.mask" and "result.logits" are
// named.
std::optional<Port> hook_port_of(std::string_view name);

// In the order of the rows. Trouble where a row has something else than numbers in their place. Rows that
// make no sense are left out with a warning.
Result<std::vector<OpFile>> read_hook_table(const fs::path& path, const std::string& module,
                                            Remarks& warnings);

}  // namespace assay
