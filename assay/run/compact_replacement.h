// The file that takes the place of another one: its name, what is measured for it, and how it is written.
#pragma once

#include "assay/run/compact_file.h"

#include <functional>

namespace assay {

// In any case; what other suffixes a name may have is in may_be_compacted().
inline constexpr std::string_view kTensorSuffixes[] = {".npy", ".bin", ".pt", ".pth"};

bool is_replacement_name(std::string_view file_name);  // of either form
fs::path replacement_path(const fs::path& source, CompactForm form);

// Why a file that already has this name must stay: it is not one of ours. Nothing where it may be replaced.
std::optional<std::string> refuse_foreign_replacement(const fs::path& replacement,
                                                      const CompactOptions& options);

using WriteReplacement = std::function<Result<void>(FileWriter&)>;

// Reads all data of the file, once.
Result<WriteReplacement> measure_file(const File& file, const Format& format, const TensorSet& set,
                                      CompactForm form);

// Writes, syncs and names it; answers its size.
Result<int64_t> write_replacement(const WriteReplacement& write, const fs::path& path, unsigned mode);

// Where mapping.csv beside the source says what its digits stand for, it says so of the replacement too.
Result<void> note_long_name(const fs::path& source, const fs::path& replacement);

}  // namespace assay
