// A run that writes nothing leaves no folder behind.
#pragma once

#include "assay/base/file.h"

#include <unistd.h>

#include <vector>

namespace assay::cli {

// Remembers which folders on the way to `folder` are not there yet, and removes those that are there and
// empty when it goes. Make it before whatever writes into the folder.
class NewFolder {
 public:
  explicit NewFolder(fs::path folder) {
    std::error_code error;
    for (; !folder.empty() && !fs::exists(fs::symlink_status(folder, error)); folder = folder.parent_path())
      if (folder.has_filename()) missing_.push_back(folder);
  }
  ~NewFolder() {
    for (const fs::path& folder : missing_)
      ::rmdir(folder.c_str());  // fails for files, and for what holds any
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  std::vector<fs::path> missing_;  // the innermost first
};

}  // namespace assay::cli
