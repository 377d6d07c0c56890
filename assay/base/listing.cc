#include "assay/base/listing.h"

#include "assay/base/caller.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <unordered_map>

namespace assay {
namespace {

constexpr size_t kMostRemembered = 100'000;

using Kind = ListedEntry::Kind;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return Kind::file;
  if (S_ISDIR(mode)) return Kind::folder;
  if (S_ISFIFO(mode)) return Kind::pipe;
  return S_ISSOCK(mode) ? Kind::socket : Kind::device;
}

ListedEntry look_at(int folder, const dirent& entry) {
  ListedEntry found;
  found.name = entry.d_name;
  if (entry.d_type == DT_DIR) {
    found.kind = Kind::folder;
    return found;
  }
  struct stat status {};
  const bool is_known = entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK;
  if (::fstatat(folder, entry.d_name, &status, is_known ? AT_SYMLINK_NOFOLLOW : 0) != 0) {
    found.error = errno;
  } else {
    found.kind = kind_of(status.st_mode);
    found.size = status.st_size;
  }
  struct stat link {};
  found.is_link =
      !is_known &&
      (entry.d_type == DT_LNK ||
       (::fstatat(folder, entry.d_name, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode)));
  return found;
}

Listing read_listing(const std::filesystem::path& path) {
  Listing listing;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) {
    listing.error = errno;
    return listing;
  }
  const int descriptor = ::dirfd(folder.get());
  struct stat status {};
  if (::fstat(descriptor, &status) == 0) {
    listing.device = status.st_dev;
    listing.inode = status.st_ino;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") listing.entries.push_back(look_at(descriptor, *entry));
  }
  listing.error = errno;
  return listing;
}

struct Memory {
  std::mutex guard;
  int users = 0;
  std::filesystem::path here;  // where relative paths begin
  std::unordered_map<std::string, std::shared_ptr<const Listing>> listings;
};

Memory& memory() { return of_caller<Memory>(); }

// The same for most of the ways in which a folder can be called.
std::string key_of(const std::filesystem::path& folder, const std::filesystem::path& here) {
  std::string key = (here / folder).native();
  while (key.size() > 1 && key.back() == '/') key.pop_back();
  return key;
}

}  // namespace

std::shared_ptr<const Listing> list_folder(const std::filesystem::path& folder) {
  Memory& all = memory();
  std::string key;
  {
    const std::lock_guard lock(all.guard);
    if (all.users > 0) {
      key = key_of(folder, all.here);
      if (const auto known = all.listings.find(key); known != all.listings.end()) return known->second;
    }
  }
  auto listing = std::make_shared<const Listing>(read_listing(folder));
  if (key.empty() || listing->entries.size() > kMostRemembered) return listing;
  const std::lock_guard lock(all.guard);
  if (all.users > 0) all.listings.emplace(std::move(key), listing);
  return listing;
}

ListingMemory::ListingMemory() {
  const std::lock_guard lock(memory().guard);
  std::error_code ignored;
  if (memory().users++ == 0) memory().here = std::filesystem::current_path(ignored);
}

ListingMemory::~ListingMemory() {
  const std::lock_guard lock(memory().guard);
  if (--memory().users == 0) memory().listings.clear();
}

}  // namespace assay
