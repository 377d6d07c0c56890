// Statistics of the tensors of one file, in the place of the file: X.npy becomes X.npy.stats.json.
// Layout of the text: docs/formats/stats.md
//
// open_tensors("X.npy") gives what X.npy.stats.json says where X.npy itself is gone: meta and stats, and a
// reason of kind not_found instead of data. draft_tensors() makes a description without trouble of that.
#pragma once

#include "assay/format/format.h"

namespace assay {

extern const Format stats_json_format;

inline constexpr std::string_view kStatsSuffix = ".stats.json";

// "X.npy" of "X.npy.stats.json"; nothing for other names.
std::optional<std::string_view> name_before_compaction(std::string_view name);
fs::path statistics_path(const fs::path& source);

// A file of that name which ends before it says whether it is one of ours; empty, perhaps.
bool is_cut_off_statistics(const File& file);

struct TensorStatistics {
  std::string name;  // as the source has it
  TensorMeta meta;
  Stats stats;  // in f64, max and min of integers exact; the checksum is the CRC-32 of the elements
  int64_t nans = 0, infs = 0, zeros = 0;
  int64_t minus_infs = 0;       // those of the infs that are negative
  std::optional<Stats> finite;  // of the finite elements alone, where others are among them
  std::vector<Fact> facts;      // of the source
};

struct FileStatistics {
  std::string source;  // its file name
  std::string_view format;
  int64_t bytes = 0;
  std::vector<TensorStatistics> tensors;
  std::vector<TensorStatistics> others = {};  // of parts that are no tensors: TensorSet::others
};

std::string stats_json_text(const FileStatistics& file);

}  // namespace assay
