// Extended attributes of a file that users and their programs set (user.*): notes that its bytes do not have.
#pragma once

#include "assay/base/file.h"

namespace assay {

// Gives the open file those that the file at `from` has, links followed. An error names the attribute and
// says why it cannot be given: the file system knows none, or has no room.
Result<void> copy_user_attributes(const fs::path& from, int to);

// Has the second file all that the first one has, with the same values?
bool has_user_attributes_of(const fs::path& from, const fs::path& other);

}  // namespace assay
