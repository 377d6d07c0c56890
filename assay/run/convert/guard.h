// Which files a conversion must not write over: those that are still to be read, and those it has just
// written. Told by what the names lead to, whatever they are: links, "..", names that differ in case only.
#pragma once

#include "assay/base/file.h"

#include <set>
#include <utility>

namespace assay {

class ConvertGuard {
 public:
  void add_source(const fs::path& path);
  // This one is being converted: its output may take its own name.
  void begin(const fs::path& source);
  void add_output(const fs::path& path);

  // Does the name lead to a source other than the one at hand, or to an output?
  bool is_taken(const fs::path& path) const;
  // Does it lead to the source at hand?
  bool is_own(const fs::path& path) const;

 private:
  using Identity = std::pair<uint64_t, uint64_t>;  // device, inode
  static std::set<Identity> identities(const fs::path& path);
  std::set<Identity> sources_, outputs_, current_;
};

}  // namespace assay
