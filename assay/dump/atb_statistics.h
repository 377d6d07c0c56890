// statistic.csv in a round of an ATB dump, as msprobe writes it: a row for each tensor, beside the files or
// instead of them. docs/formats/atb.md
#pragma once

#include "assay/dump/op_folders.h"

namespace assay {

inline constexpr std::string_view kAtbStatistics = "statistic.csv";
// The titles it begins with: kernel dumps of MindSpore have files of the same name.
inline constexpr std::string_view kAtbDevice = "Device and PID", kAtbExecution = "Execution Count";
inline constexpr std::string_view kAtbNothing = "N/A";  // a cell without a value

bool has_atb_titles(std::span<const std::string> first_row);
bool is_atb_statistics(const fs::path& file);  // by its titles

struct StatedTensor {
  std::string op;  // path of its operator, "1_Prefill_layer/0_LinearOperation"
  OpFile file;     // named as the file would be; statistics only where the row has numbers; trouble where it
                   // has something else than numbers, or "N/A", in their place
  bool names_file = false;  // the row says where its data lies
};

// In the order of the rows; of two rows for one tensor the last counts. Rows that make no sense are left out
// with a warning.
Result<std::vector<StatedTensor>> read_atb_statistics(const fs::path& file, Remarks& warnings);

// Cells of a row. "Layer/Linear" and "1_0": "1_Layer/0_Linear"; nothing where they do not fit together.
std::optional<std::string> atb_op_path(std::string_view names, std::string_view ids);
// "float16" and "2x3"; nothing for what no tensor can be.
std::optional<TensorMeta> atb_stated_meta(std::string_view type, std::string_view dims);

}  // namespace assay
