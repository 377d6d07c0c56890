// What becomes of one file that is compacted. Nothing here removes a file before what replaces it is on the
// disk: publish_replacement(), then sync_folder() of its folder, then remove_source().
#pragma once

#include "assay/base/file.h"
#include "assay/format/format.h"

#include <optional>

namespace assay {

enum class CompactForm : uint8_t { stats, min_max };  // X.stats.json, or the files of TorchAir's script

// Which file a name means, and whether it was changed.
struct FileState {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, modified_ns = 0, changed_ns = 0;
  uint32_t mode = 0, owner = 0, group = 0;
  uint64_t links = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

// Of the name itself: links are not followed. Nothing where there is no such file any more.
std::optional<FileState> read_state(const fs::path& path);
std::optional<FileState> read_state(int folder, const std::string& name);
FileState read_state(int descriptor);

// The same file with the same contents, whatever names and permissions it got meanwhile.
bool is_unchanged(const FileState& before, const FileState& now);

enum class Writer : uint8_t {
  nobody,  // also where the file system cannot tell, or the file cannot be opened
  somebody,
  hidden,  // the kernel tells it to the owner of the file, or to one with CAP_LEASE
  unseen,  // there are too many open files to look
};

inline constexpr std::string_view kUnseenWriter =
    "whether anybody is writing it cannot be told: too many open files (ulimit -n raises the limit)";

// Who has the file open for writing: a lease is refused then. Where the file system knows no leases, the time
// for which the file was at rest has to do.
Writer find_writer(const fs::path& path);

struct CompactJob {
  fs::path path;
  FileState state;  // as it was when it was found to be at rest
};

// Could a file of this name be one to replace? Judged by the name alone; docs/compact.md lists the rules.
bool may_be_compacted(std::string_view file_name, CompactForm form);

enum class Fate : uint8_t {
  replaced,
  kept,      // its data stays, and the user should know why
  left_out,  // nothing of ours, or nothing to save: an ATB file that only names another one
  gone,      // somebody else removed or replaced it meanwhile
  trouble,   // the replacement could not be written: a full disk
};

struct FileFate {
  Fate fate = Fate::left_out;
  std::string why = {};       // of kept and trouble; names the file
  bool may_pass = false;      // worth another try, though the file did not change
  fs::path replacement = {};  // of replaced
  FileState published = {};   // the replacement, as it was written or found
  bool was_there = false;     // the replacement lay there already, whoever wrote it
};

struct CompactOptions {
  CompactForm form = CompactForm::stats;
  FormatOptions format;
  bool dry_run = false;
  bool alone = false;  // no other run can be at work on the same files: they are locked
};

// Measures the file and puts its replacement beside it; Fate::replaced means that this is done (in a dry run:
// that it could be). An error is only ErrorKind::cancelled.
Result<FileFate> publish_replacement(const CompactJob& job, const CompactOptions& options);

// Removes the source if it is still what was measured and the replacement still what was published; removes
// the replacement if the source was changed and nobody put something else there.
// Where somebody else removed or renamed the source, what this run has just written goes too: it would stand
// for a file that nobody has. Not where another run may have removed it because of these very statistics.
FileFate remove_source(const CompactJob& job, const FileFate& published, const CompactOptions& options);

}  // namespace assay
