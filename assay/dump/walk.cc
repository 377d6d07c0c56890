#include "assay/dump/walk.h"

#include "assay/base/cancel.h"
#include "assay/base/listing.h"
#include "assay/base/system_message.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace assay {
namespace {

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
  Walker(const fs::path& root, const OwnFolders* own) : root_(root), own_(own) {}

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
    std::ranges::sort(walk_.empty, natural_less);
    return std::move(walk_);
  }

 private:
  fs::path full(const std::string& relative) const { return relative.empty() ? root_ : root_ / relative; }

  Result<void> enter(const Folder& folder) {
    ASSAY_TRY_DO(check_cancelled());
    const fs::path path = full(folder.relative);
    if (own_ != nullptr && own_->has_tree(path)) return {};
    const bool has_own_files = own_ != nullptr && own_->has_files(path);
    const auto listing = list_folder(path);
    if (listing->error == 0 && !entered_.emplace(listing->device, listing->inode).second) {
      walk_.warnings.push_back(fmt::format(
          "{}: leads to a folder that was read already under another name; skipped", display(path)));
      return {};
    }
    for (const ListedEntry& entry : listing->entries)
      if (!is_temporary_name(entry.name) && (!has_own_files || entry.kind == ListedEntry::Kind::folder))
        look_at(folder, entry);
    if (listing->error == 0 && listing->entries.empty() && !folder.relative.empty())
      walk_.empty.push_back(folder.relative);
    if (const int error = listing->error; error != 0)
      return fail(error == ENOENT || error == ENOTDIR ? ErrorKind::not_found : ErrorKind::io,
                  "{}: folder cannot be read: {}", display(path), system_message(error));
    return {};
  }

  void look_at(const Folder& folder, const ListedEntry& entry) {
    using Kind = ListedEntry::Kind;
    std::string relative = folder.relative + entry.name;
    if (entry.kind == Kind::unreadable) {
      const std::string path = display(full(relative));
      const std::string why = fmt::format("{}: cannot be read: {}", path, system_message(entry.error));
      if (!entry.is_link) walk_.unentered.push_back(why);
      walk_.files.push_back(broken(
          std::move(relative), entry.is_link && entry.error == ENOENT
                                   ? fmt::format("{}: is a symbolic link to a file that does not exist", path)
                                   : why));
      return;
    }
    if (entry.kind == Kind::folder) {
      if (folder.depth + 1 > kMaxFolderDepth) {
        const std::string why =
            fmt::format("{}: lies more than {} folders deep", display(full(relative)), kMaxFolderDepth);
        walk_.warnings.push_back(unreadable(why + "; skipped"));
        walk_.unentered.push_back(why);
        return;
      }
      Folder below{relative + "/", folder.depth + 1};
      if (entry.is_link)
        linked_.insert(std::move(below));
      else
        real_.push_back(std::move(below));
      return;
    }
    std::string trouble;
    if (entry.kind != Kind::file) {
      const std::string_view what = entry.kind == Kind::socket ? "a socket"
                                    : entry.kind == Kind::pipe ? "a pipe"
                                                               : "a device";
      trouble = fmt::format("{}: is {}, not a file", display(full(relative)), what);
    }
    walk_.files.push_back(FoundFile{std::move(relative), entry.size, false, std::move(trouble)});
  }

  const fs::path root_;
  const OwnFolders* const own_;
  Walk walk_;
  std::vector<Folder> real_;
  std::set<Folder> linked_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

// Nothing where it cannot be found out.
std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

}  // namespace

void OwnFolders::add_tree(const fs::path& folder) {
  if (const auto identity = identity_of(folder)) trees_.insert(*identity);
}

void OwnFolders::add_files(const fs::path& folder) {
  if (const auto identity = identity_of(folder)) folders_.insert(*identity);
}

bool OwnFolders::has_tree(const fs::path& folder) const {
  const auto identity = identity_of(folder);
  return identity && trees_.contains(*identity);
}

bool OwnFolders::has_files(const fs::path& folder) const {
  const auto identity = identity_of(folder);
  return identity && folders_.contains(*identity);
}

fs::path path_of(const fs::path& root, const FoundFile& file) {
  return file.is_statistics ? statistics_path(root / file.relative) : root / file.relative;
}

std::vector<FoundFile> list_files(const fs::path& folder, Remarks& warnings) {
  std::vector<FoundFile> files;
  const auto listing = list_folder(folder);
  for (const ListedEntry& entry : listing->entries) {
    if (entry.kind == ListedEntry::Kind::folder || is_temporary_name(entry.name)) continue;
    FoundFile file;
    file.relative = entry.name;
    file.size = entry.size;  // of a link to nowhere 0: reading it says so
    files.push_back(std::move(file));
  }
  if (listing->error != 0)
    warnings.push_back(unreadable(
        fmt::format("{}: folder cannot be read: {}", display(folder), system_message(listing->error))));
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

std::vector<std::string> files_outside(const std::set<std::string>& folders, const Walk& walk) {
  std::vector<std::string> files;
  for (const FoundFile& file : walk.files)
    if (!folders.contains(file.relative.substr(0, file.relative.rfind('/') + 1)))
      files.push_back(file.relative);
  return files;
}

std::vector<std::string> empty_folders(const Walk& walk,
                                       const std::function<bool(const std::string& relative)>& counts) {
  std::vector<std::string> found;
  if (walk.empty.empty()) return found;
  std::unordered_set<std::string> with_files;
  for (const FoundFile& file : walk.files)
    for (size_t slash = file.relative.rfind('/'); slash != std::string::npos && slash > 0;
         slash = file.relative.rfind('/', slash - 1))
      if (!with_files.insert(file.relative.substr(0, slash)).second) break;
  std::unordered_set<std::string> known;
  for (const std::string& folder : walk.empty)
    for (size_t slash = folder.find('/'); slash != std::string::npos; slash = folder.find('/', slash + 1)) {
      std::string outer = folder.substr(0, slash);
      if (with_files.contains(outer) || !counts(outer)) continue;
      if (known.insert(outer).second) found.push_back(std::move(outer));
      break;
    }
  return found;
}

bool is_empty_tree(const fs::path& folder) {
  const auto walk = walk_folder(folder);
  return walk && walk->files.empty();
}

Result<Walk> walk_folder(const fs::path& root) { return Walker(root, nullptr).run(); }

std::vector<std::string> files_outside(const OwnFolders& own, const fs::path& root, Remarks& warnings) {
  const auto walk = Walker(root, &own).run();
  if (!walk) return {};  // the layout has read the root, and says what is wrong with it
  for (const Remark& trouble : troubles_of(*walk))
    if (trouble.kind == Remark::Kind::unreadable) warnings.push_back(trouble);
  return files_outside({}, *walk);
}

}  // namespace assay
