// Every file below a folder. Symbolic links are followed; each folder is entered once, so a loop of links
// ends.
#pragma once

#include "assay/base/remark.h"
#include "assay/format/stats_json.h"

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct FoundFile {
  std::string relative;  // path below the root, with '/'; bytes as the file system has them. As the dump had
                         // it: "x.npy" also where "x.npy.stats.json" stands in its place
  int64_t size = 0;
  bool is_statistics = false;  // it is gone; relative + kStatsSuffix stands in its place
  std::string trouble;  // why it cannot be opened: a pipe, a link to nowhere, a folder without permission
};

// Where its bytes are.
fs::path path_of(const fs::path& root, const FoundFile& file);

struct Walk {
  std::vector<FoundFile> files;  // in natural order of `relative`
  Remarks warnings;
  std::vector<std::string> unentered =
      {};                               // what may hold further files, with the reason why it was not read
  std::vector<std::string> empty = {};  // folders in which nothing lies, as `relative`, with '/' behind
};

// The files of one folder alone, links followed, in natural order and named as the dump had them. What can
// not be listed goes to `warnings`.
std::vector<FoundFile> list_files(const fs::path& folder, Remarks& warnings);

// The warnings, and folders that could not be read: for a layout that has no row for these.
Remarks troubles_of(const Walk& walk);

// The files that lie in none of the folders, which are given as they stand in `relative`, with '/' behind.
std::vector<std::string> files_outside(const std::set<std::string>& folders, const Walk& walk);

// Folders without a file, however deep, of those that `counts` is true for by their paths below the root,
// without '/' behind; of one within another the outer one.
std::vector<std::string> empty_folders(const Walk& walk,
                                       const std::function<bool(const std::string& relative)>& counts);
// Whether that is such a one: it is there, and no file.
bool is_empty_tree(const fs::path& folder);

inline constexpr int kMaxFolderDepth = 256;

// Folders that a layout reads itself, however they are called.
class OwnFolders {
 public:
  void add_tree(const fs::path& folder);   // with all that lies below
  void add_files(const fs::path& folder);  // its files, and not its folders
  bool has_tree(const fs::path& folder) const;
  bool has_files(const fs::path& folder) const;

 private:
  std::set<std::pair<dev_t, ino_t>> trees_, folders_;
};

// What we are writing ourselves (base/temporary_name.h) is left out. Only an unreadable root is an error.
Result<Walk> walk_folder(const fs::path& root);

// The files of a dump that lie outside of what its layout reads. Folders that cannot be read are remarked.
std::vector<std::string> files_outside(const OwnFolders& own, const fs::path& root, Remarks& warnings);

}  // namespace assay
