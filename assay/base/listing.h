// What a folder holds. Recognising, surveying and indexing a dump ask for the same folders again and again:
// while a ListingMemory lives, each is listed once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace assay {

struct ListedEntry {
  enum class Kind : uint8_t { file, folder, pipe, socket, device, unreadable };
  std::string name;  // bytes as the file system has them
  Kind kind = Kind::unreadable;
  bool is_link = false;  // kind and size are of what it leads to
  int64_t size = 0;      // of a file
  int error = 0;         // an errno, of what is unreadable
};

struct Listing {
  std::vector<ListedEntry> entries;  // in the order of the file system
  dev_t device = 0;
  ino_t inode = 0;
  int error = 0;  // an errno: there may be entries that it lacks
};

std::shared_ptr<const Listing> list_folder(const std::filesystem::path& folder);

// For a run that takes dumps as they are when it first looks at them. Listings of more than a hundred
// thousand entries are not kept.
class ListingMemory {
 public:
  ListingMemory();
  ~ListingMemory();
  ListingMemory(const ListingMemory&) = delete;
  ListingMemory& operator=(const ListingMemory&) = delete;
};

}  // namespace assay
