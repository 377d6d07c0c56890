// The file that takes the place of another one: its name, what is measured for it, and how it is written.
#pragma once

#include "assay/run/compact/long_names.h"

namespace assay {

// In any case; what other suffixes a name may have is in may_be_compacted().
inline constexpr std::string_view kTensorSuffixes[] = {".npy", ".bin", ".pt", ".pth"};

bool is_replacement_name(std::string_view file_name);  // of either form
// No two files of one folder have the same. Nothing where the form has no name for this one: x.NPY would
// become what x.npy does.
std::optional<fs::path> replacement_path(const fs::path& source, CompactForm form);

// What is to be written: a text, or the arrays of a NumPy file.
struct Replacement {
  std::string text;
  std::vector<StoredTensor> arrays;
  const Format* format = nullptr;  // of the arrays; null: the text counts
};

// Reads all data of the file, once.
Result<Replacement> measure_file(const File& file, const Format& format, const TensorSet& set,
                                 CompactForm form);

// What already has the name of the replacement; told by its contents.
enum class Occupant : uint8_t {
  nobody,
  same,     // exactly what would be written: a run that was ended before it removed the source
  foreign,  // something else, if only by a line that somebody added: it must stay
};
Occupant find_occupant(const fs::path& replacement, const Replacement& measured,
                       const FormatOptions& options);

// Writes, syncs and names it, with the permissions and extended attributes of its source, and as root with
// its owner too; answers which file it became. ErrorKind::mismatch, without a name before it: the source
// should be kept.
Result<FileState> write_replacement(const Replacement& replacement, const fs::path& path,
                                    const CompactJob& job);

// Why the replacement cannot have its name: too long for the file system (or the one of the source is, to be
// set aside), or what mapping.csv would have to say of it cannot be said there. Nothing where it can.
std::optional<Refusal> refuse_by_name(const fs::path& source, const fs::path& replacement, CompactForm form);

}  // namespace assay
