#include "assay/run/compact/scan.h"

#include "assay/base/cancel.h"
#include "assay/base/system_message.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"
#include "assay/dump/walk.h"
#include "assay/format/min_max.h"
#include "assay/format/stats_json.h"
#include "assay/run/compact/removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace assay {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

struct Waiting {
  fs::path path;
  int depth;
};

// The user names the root, which may be a link; below it none is followed.
OpenFolder open_folder(const fs::path& path, bool is_root) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_root ? 0 : O_NOFOLLOW));
  if (descriptor < 0) return nullptr;
  DIR* const opened = ::fdopendir(descriptor);
  if (opened == nullptr) ::close(descriptor);
  return OpenFolder(opened);
}

// A pattern of --only that chose a file of an earlier run is not in vain.
std::string name_before_compaction(const std::string& path) {
  if (path.ends_with(kStatsSuffix)) return path.substr(0, path.size() - kStatsSuffix.size());
  const size_t name = path.rfind('/') + 1;
  const auto before = name_before_min_max(std::string_view(path).substr(name));
  return before ? path.substr(0, name) + *before : path;
}

void note_use(const fs::path& root, const fs::path& path, bool is_folder, CompactChoice& choice) {
  if (choice.only.empty() && choice.skip.empty()) return;
  const std::string relative = path.lexically_relative(root).generic_string();
  choice.skip.note(relative);
  if (is_folder) return;
  choice.only.note(relative);
  choice.only.note(name_before_compaction(relative));
}

}  // namespace

bool is_wanted(const fs::path& root, const fs::path& file, const CompactChoice& choice) {
  if (!may_be_compacted(file.filename().native(), choice.form)) return false;
  const std::string relative = file.lexically_relative(root).generic_string();
  return (choice.only.empty() || choice.only.fits(relative)) && !choice.skip.fits_above(relative);
}

Result<CompactScan> scan_for_compaction(const fs::path& root, const fs::path& folder, CompactChoice& choice,
                                        const std::function<void(const fs::path&)>& enter) {
  CompactScan scan;
  std::vector<Waiting> waiting = {{folder, 0}};
  while (!waiting.empty()) {
    ASSAY_TRY_DO(check_cancelled());
    const Waiting next = std::move(waiting.back());
    waiting.pop_back();
    if (enter) enter(next.path);
    const OpenFolder open = open_folder(next.path, next.path == root);
    if (!open) {
      const int error = errno;
      if (next.depth > 0 && (error == ENOENT || error == ENOTDIR || error == ELOOP)) continue;
      const std::string why =
          fmt::format("{}: folder cannot be read: {}", display(next.path), system_message(error));
      if (next.path == root)
        return fail(error == ENOENT || error == ENOTDIR ? ErrorKind::not_found : ErrorKind::io, "{}", why);
      scan.troubles.push_back(why);
      continue;
    }
    scan.folders.push_back(next.path);
    bool is_troubled = false;  // one message for a folder is enough
    while (const dirent* const entry = ::readdir(open.get())) {
      const std::string_view name = entry->d_name;
      const fs::path path = next.path / name;
      if (is_temporary_name(name)) scan.leftovers.push_back(path);
      if (name == "." || name == "..") continue;
      // A link is never replaced: a pattern that fits nothing else would keep nothing.
      if (entry->d_type != DT_LNK)
        note_use(root, is_set_aside(name) ? name_before_aside(path) : path, entry->d_type == DT_DIR, choice);
      if (name.starts_with('.')) continue;
      struct stat status {};
      if (::fstatat(::dirfd(open.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        const int error = errno;  // a folder that may be listed and not entered, a disk that fails
        if (error != ENOENT && !is_troubled)
          scan.troubles.push_back(
              fmt::format("{}: cannot be looked at: {}", display(path), system_message(error)));
        is_troubled |= error != ENOENT;
        continue;
      }
      if (S_ISDIR(status.st_mode) && next.depth < kMaxFolderDepth) waiting.push_back({path, next.depth + 1});
      if (!S_ISREG(status.st_mode)) continue;
      if (is_set_aside(name)) {
        if (is_wanted(root, name_before_aside(path), choice)) scan.set_aside.push_back(path);
        continue;
      }
      if (!is_wanted(root, path, choice)) continue;
      if (const auto state = read_state(path)) scan.files.push_back({path, *state});
    }
  }
  std::sort(scan.files.begin(), scan.files.end(), [](const CompactJob& a, const CompactJob& b) {
    return natural_less(a.path.native(), b.path.native());
  });
  return scan;
}

}  // namespace assay
