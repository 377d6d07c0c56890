// Dumps of msit's hooks on torch modules: torch_tensors/{device}_{pid}/ with model_tree.json and
// {token}/{module}/{input,output}*.pth. One frame per rank and token. docs/formats/torch_hook.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout torch_hook_layout;

// The table of what the tensors of a module are, where these were not dumped.
bool is_hook_table(const fs::path& path);

struct HookTableRow {
  Stats stats;
  std::optional<TensorMeta> meta;
};
// One row, by its place among those that are of inputs and outputs. An error where there is no such row.
Result<HookTableRow> read_hook_table_row(const fs::path& table, int32_t row);

}  // namespace assay
