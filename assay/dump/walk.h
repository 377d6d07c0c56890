// Every file below a folder. Symbolic links are followed; each folder is entered once, so a loop of links
// ends.
#pragma once

#include "assay/base/file.h"

#include <string>
#include <vector>

namespace assay {

struct FoundFile {
  std::string relative;  // path below the root, with '/'; bytes as the file system has them
  int64_t size = 0;
  std::string trouble;  // why it cannot be opened: a pipe, a link to nowhere, a folder without permission
};

struct Walk {
  std::vector<FoundFile> files;  // in natural order of `relative`
  std::vector<std::string> warnings;
};

inline constexpr int kMaxFolderDepth = 256;

// Our own half-written files (".name.123.0.tmp") are left out. Only an unreadable root is an error.
Result<Walk> walk_folder(const fs::path& root);

}  // namespace assay
