// Files between the two times they are wanted: indexing reads their headers, measuring their data. Kept open
// in between, each is opened once.
#pragma once

#include "assay/format/format.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace assay {

// As many files as may be kept open at once: what the process may have, less what everything else needs.
size_t most_open_files();

// Of files that several readers want at different times: a few hundred at most.
size_t most_shared_files();

// Any thread.
class OpenFiles {
 public:
  explicit OpenFiles(size_t most = most_open_files()) : most_(most) {}
  // Closed at once where it holds no data or there is no room: then it is opened again when it is wanted.
  void keep(const fs::path& path, TensorSet set);
  // Hands the file on; null where it was not kept. At most once, unless files stay open.
  std::shared_ptr<const TensorSet> take(const fs::path& path);
  std::shared_ptr<const TensorSet> find(const fs::path& path);  // … and leaves it there for who takes it
  // Whether those that are taken are left for who takes them again.
  void stay_open(bool stays) { stays_open_ = stays; }
  void close();  // all that are left

 private:
  const size_t most_;
  std::atomic<bool> stays_open_ = false;
  std::mutex guard_;
  std::unordered_map<std::string, std::shared_ptr<const TensorSet>> files_;
};

// For the program as a whole, before it opens anything: as many files as the system allows at most.
void raise_limit_of_open_files();

}  // namespace assay
