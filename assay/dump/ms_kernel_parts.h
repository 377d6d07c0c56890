// The parts of the ms_kernel layout: what a file name says, and what one folder holds.
#pragma once

#include "assay/dump/layout.h"

namespace assay {

// "Add.Default_Add-op0.1.2.100.input.0.ND.npy"
struct KernelName {
  std::string type, operation;  // "Add"; "Default_Add-op0.1": name and task
  std::string io, slot;         // "input", "0"
  int64_t timestamp = 0;

  std::string key() const { return operation + "." + io + "." + slot; }
};
std::optional<KernelName> parse_kernel_name(std::string_view file_name);  // nothing for any other name

// One tensor of a folder: a file, or a row of statistic.csv.
struct KernelEntry {
  KernelName name;
  fs::path file;  // empty for a row of statistic.csv
  int64_t size = 0;
  // The rest belongs to such rows.
  Scalar max, min, mean, norm;  // rounded to f32, in which the reports compute; absent: no such column
  Nonfinite nonfinite;          // nothing where there are no columns of counts
  int8_t decimals = -1;         // that these were printed with
  bool says_nothing = false;    // "null" in the place of every statistic
  std::string dtype, shape;     // as written
  std::string trouble;
};

struct KernelFolder {
  std::vector<KernelEntry> entries;  // files in natural order of their names; rows as they stand
  fs::path statistics;               // the statistic.csv that was read; empty: none
  Remarks warnings;
};
// `null_is_zero`: what a "null" among statistics is; else nothing.
KernelFolder read_kernel_folder(const fs::path& folder, bool null_is_zero);

inline constexpr std::string_view kKernelStatistics = "statistic.csv";
bool is_kernel_statistics(const fs::path& csv);  // its first row has the titles of one

}  // namespace assay
