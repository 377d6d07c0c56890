#include "assay/dump/walk.h"

#include "assay/base/cancel.h"
#include "assay/base/system_message.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace assay {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

struct Folder {
  std::string relative;  // "" for the root, else ends with '/'
  int depth = 0;
  bool operator<(const Folder& other) const { return natural_less(relative, other.relative); }
};

FoundFile broken(std::string relative, std::string why) {
  FoundFile file;
  file.relative = std::move(relative);
  file.trouble = std::move(why);
  return file;
}

// Statistics take the name of the file that they stand for; where that is still there, it counts.
void name_as_dumped(std::vector<FoundFile>& files) {
  const auto is_statistics = [](const FoundFile& file) {
    return file.trouble.empty() && name_before_compaction(file.relative).has_value();
  };
  if (std::none_of(files.begin(), files.end(), is_statistics)) return;
  std::unordered_set<std::string> names;
  for (const FoundFile& file : files) names.insert(file.relative);
  std::erase_if(files, [&](const FoundFile& file) {
    return is_statistics(file) && names.contains(std::string(*name_before_compaction(file.relative)));
  });
  for (FoundFile& file : files)
    if (is_statistics(file)) {
      file.relative = std::string(*name_before_compaction(file.relative));
      file.is_statistics = true;
    }
}

class Walker {
 public:
  explicit Walker(const fs::path& root) : root_(root) {}

  Result<Walk> run() {
    ASSAY_TRY_DO(enter(Folder{}));
    // Real folders first: where a link and a real path lead to one folder, its files carry the real path.
    // Links are taken in a fixed order, whatever order the file system lists them in.
    while (!real_.empty() || !linked_.empty()) {
      Folder next;
      if (!real_.empty()) {
        next = std::move(real_.back());
        real_.pop_back();
      } else {
        next = *linked_.begin();
        linked_.erase(linked_.begin());
      }
      if (auto entered = enter(next); !entered) {
        if (entered.error().kind == ErrorKind::cancelled) return tl::unexpected(std::move(entered.error()));
        walk_.unentered.push_back(entered.error().message);
        walk_.files.push_back(broken(std::move(next.relative), std::move(entered.error().message)));
      }
    }
    name_as_dumped(walk_.files);
    std::sort(walk_.files.begin(), walk_.files.end(),
              [](const FoundFile& a, const FoundFile& b) { return natural_less(a.relative, b.relative); });
    std::ranges::sort(walk_.warnings, {}, &Remark::text);
    return std::move(walk_);
  }

 private:
  fs::path full(const std::string& relative) const { return relative.empty() ? root_ : root_ / relative; }

  Result<void> enter(const Folder& folder) {
    ASSAY_TRY_DO(check_cancelled());
    const fs::path path = full(folder.relative);
    const OpenFolder open(::opendir(path.c_str()));
    if (!open) {
      const auto kind = errno == ENOENT || errno == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
      return fail(kind, "{}: folder cannot be read: {}", display(path), system_message(errno));
    }
    struct stat status {};
    if (::fstat(::dirfd(open.get()), &status) == 0 &&
        !entered_.emplace(status.st_dev, status.st_ino).second) {
      walk_.warnings.push_back(fmt::format(
          "{}: leads to a folder that was read already under another name; skipped", display(path)));
      return {};
    }
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(open.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || is_temporary_name(name)) continue;
      look_at(folder, ::dirfd(open.get()), entry->d_name);
    }
    if (errno != 0)
      return fail(ErrorKind::io, "{}: folder cannot be read: {}", display(path), system_message(errno));
    return {};
  }

  void look_at(const Folder& folder, int descriptor, const char* name) {
    std::string relative = folder.relative + name;
    struct stat status {};
    if (::fstatat(descriptor, name, &status, 0) != 0) {
      const int error = errno;
      struct stat link {};
      const bool is_link =
          ::fstatat(descriptor, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode);
      const std::string path = display(full(relative));
      if (!is_link)
        walk_.unentered.push_back(fmt::format("{}: cannot be read: {}", path, system_message(error)));
      walk_.files.push_back(broken(
          std::move(relative), is_link && error == ENOENT
                                   ? fmt::format("{}: is a symbolic link to a file that does not exist", path)
                                   : fmt::format("{}: cannot be read: {}", path, system_message(error))));
      return;
    }
    if (S_ISDIR(status.st_mode)) {
      if (folder.depth + 1 > kMaxFolderDepth) {
        walk_.warnings.push_back(unreadable(fmt::format("{}: lies more than {} folders deep; skipped",
                                                        display(full(relative)), kMaxFolderDepth)));
        walk_.unentered.push_back(
            fmt::format("{}: lies more than {} folders deep", display(full(relative)), kMaxFolderDepth));
        return;
      }
      struct stat link {};
      const bool is_link =
          ::fstatat(descriptor, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode);
      Folder below{relative + "/", folder.depth + 1};
      if (is_link)
        linked_.insert(std::move(below));
      else
        real_.push_back(std::move(below));
      return;
    }
    std::string trouble;
    if (!S_ISREG(status.st_mode)) {
      const std::string_view what = S_ISSOCK(status.st_mode)   ? "a socket"
                                    : S_ISFIFO(status.st_mode) ? "a pipe"
                                                               : "a device";
      trouble = fmt::format("{}: is {}, not a file", display(full(relative)), what);
    }
    walk_.files.push_back(FoundFile{std::move(relative), status.st_size, false, std::move(trouble)});
  }

  const fs::path root_;
  Walk walk_;
  std::vector<Folder> real_;
  std::set<Folder> linked_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

}  // namespace

fs::path path_of(const fs::path& root, const FoundFile& file) {
  return file.is_statistics ? statistics_path(root / file.relative) : root / file.relative;
}

std::vector<FoundFile> list_files(const fs::path& folder, Remarks& warnings) {
  std::vector<FoundFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) continue;
    FoundFile file;
    file.relative = it->path().filename().native();
    if (is_temporary_name(file.relative)) continue;
    const auto size = it->file_size(ignored);  // of a link to nowhere there is none: reading it says so
    file.size = ignored ? 0 : static_cast<int64_t>(size);
    files.push_back(std::move(file));
  }
  if (error)
    warnings.push_back(
        unreadable(fmt::format("{}: folder cannot be read: {}", display(folder), error.message())));
  name_as_dumped(files);
  std::sort(files.begin(), files.end(),
            [](const FoundFile& a, const FoundFile& b) { return natural_less(a.relative, b.relative); });
  return files;
}

Remarks troubles_of(const Walk& walk) {
  Remarks remarks = walk.warnings;
  for (const FoundFile& file : walk.files)
    if (!file.trouble.empty() && file.relative.ends_with('/')) remarks.push_back(unreadable(file.trouble));
  return remarks;
}

Result<Walk> walk_folder(const fs::path& root) { return Walker(root).run(); }

}  // namespace assay
