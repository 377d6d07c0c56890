// What a folder holds that may be compacted. Symbolic links are not followed, whatever they lead to.
#pragma once

#include "assay/run/compact/choice.h"
#include "assay/run/compact/file.h"

#include <functional>
#include <string>
#include <vector>

namespace assay {

struct CompactScan {
  std::vector<CompactJob> files;      // in natural order of their paths
  std::vector<fs::path> folders;      // the root among them
  std::vector<fs::path> leftovers;    // of runs that were killed: what they had not yet given its name
  std::vector<fs::path> set_aside;    // … and what they were about to remove
  std::vector<std::string> troubles;  // folders that cannot be read
};

struct CompactChoice {
  CompactForm form = CompactForm::stats;
  PathPatterns only, skip;
};

// Is the file one to look at? By its name and by the user's choice.
bool is_wanted(const fs::path& root, const fs::path& file, const CompactChoice& choice);

// `enter` is called for every folder before it is listed. Only an unreadable root is an error. The choice
// notes which of its patterns fit something.
Result<CompactScan> scan_for_compaction(const fs::path& root, const fs::path& folder, CompactChoice& choice,
                                        const std::function<void(const fs::path&)>& enter);

}  // namespace assay
