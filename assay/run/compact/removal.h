// The last step of a compaction: the file goes, unless somebody writes to it at that very moment.
#pragma once

#include "assay/run/compact/file.h"

namespace assay {

enum class Removal : uint8_t {
  done,
  was_written,  // somebody opened it to write, or changed it: it is there as before
  failed,       // errno says why
};

// Of a file that nobody was writing to a moment ago, and that was in this state.
Removal remove_unless_written(const fs::path& path, const FileState& state);

// For the last look it is called x.npy.assay-old. A run that was killed then leaves that name, and nobody
// knows any more what is in it: the next run gives it its own name back.
fs::path aside_name(const fs::path& path);
bool is_set_aside(std::string_view file_name);
fs::path name_before_aside(const fs::path& aside);
bool put_back_from_aside(const fs::path& aside);

}  // namespace assay
