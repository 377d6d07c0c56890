// What happens in folders, as the kernel tells it (inotify). Files that other machines write on a network
// file system are not seen, and what comes too fast is lost: whoever watches also looks now and then.
#pragma once

#include "assay/base/file.h"

#include <unordered_map>
#include <vector>

namespace assay {

class FolderWatch {
 public:
  static Result<FolderWatch> open();
  FolderWatch(FolderWatch&& other) noexcept;
  FolderWatch& operator=(FolderWatch&&) = delete;
  ~FolderWatch();

  // False where the system allows no more of them, or the folder is gone. Below it nothing is watched.
  bool add(const fs::path& folder);

  struct Events {
    std::vector<fs::path> finished;  // files that a writer closed, or that were moved here
    std::vector<fs::path> folders;   // made, or moved here
    bool other = false;              // something was made or removed
    bool lost = false;               // there was more than the kernel could keep
  };
  // What has happened, or nothing after so long. A signal ends the wait too.
  Events wait(int64_t most_ns);

 private:
  explicit FolderWatch(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  std::unordered_map<int, fs::path> folders_;
};

}  // namespace assay
