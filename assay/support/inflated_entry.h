// A deflated entry that is read in any order: inflated once, and kept in memory or in a temporary file while
// it is wanted.
#pragma once

#include "assay/base/unnamed_file.h"
#include "assay/support/inflate.h"

#include <mutex>
#include <optional>

namespace assay {

class InflatedEntry;

struct InflatedLimits {
  // All entries together; what does not fit goes to a temporary file.
  int64_t memory = int64_t{256} << 20;
  // One entry alone: whoever made a small file decides how much it inflates to. Entries that nobody reads are
  // dropped where all of them together take more.
  int64_t disk = int64_t{16} << 30;
};

// What the inflated entries of all files of a run may take together. Any thread.
class InflatedRoom {
 public:
  explicit InflatedRoom(const InflatedLimits& limits = {}) : limits_(limits) {}

  // Bytes that came out of deflate streams so far.
  int64_t inflated() const { return inflated_; }
  int64_t in_memory() const;
  int64_t on_disk() const;

 private:
  friend class InflatedEntry;
  enum class Place { memory, disk };

  // Takes room for an entry that is going to be kept. `again`: it was dropped before, so that others are not
  // dropped for it: where there is too little memory for all that is wanted by turns, the disk keeps it.
  Place take(InflatedEntry& entry, int64_t bytes, bool again);
  void move_to_disk(InflatedEntry& entry);  // the system had less memory than the limit allows
  void give_back(InflatedEntry& entry);
  void drop_idle(Place place, int64_t wanted);
  int64_t& taken(Place place) { return place == Place::memory ? in_memory_ : on_disk_; }

  struct Kept {
    InflatedEntry* entry = nullptr;
    Place place = Place::memory;
    int64_t bytes = 0;
  };
  const InflatedLimits limits_;
  std::atomic<int64_t> inflated_ = 0;
  mutable std::mutex guard_;
  std::vector<Kept> kept_;  // in the order in which they were inflated
  int64_t in_memory_ = 0, on_disk_ = 0;
};

// Shared by all tensors of the entry. Any thread.
class InflatedEntry {
 public:
  InflatedEntry(std::shared_ptr<const File> file, ZipEntry entry, std::shared_ptr<InflatedRoom> room);
  ~InflatedEntry();
  InflatedEntry(const InflatedEntry&) = delete;
  InflatedEntry& operator=(const InflatedEntry&) = delete;

  const File& file() const { return *file_; }
  const ZipEntry& entry() const { return entry_; }

  // A tensor that ends at byte `end` is going to be read. Before any reading.
  void add_tensor(int64_t end);
  // More than one: then each would inflate what lies before it.
  bool has_several_tensors() const { return tensors_ > 1; }

  // A stream from the start, for one reader that goes forwards.
  std::unique_ptr<InflateStream> stream() const;

  // One reader in any order. While it lives, what was inflated for it stays.
  class Reader {
   public:
    explicit Reader(InflatedEntry& entry);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    // One thread inflates as far as it needs, others wait for it; what is there already is read at once.
    Result<void> read(int64_t offset, std::span<std::byte> out);

   private:
    InflatedEntry& entry_;
  };

 private:
  friend class InflatedRoom;
  Result<void> inflate_to(int64_t end);
  Result<void> start();
  Result<void> inflate_chunk();
  void give_up(Error trouble);
  bool drop_if_idle();  // called by the room, which then forgets what was taken

  const std::shared_ptr<const File> file_;
  const ZipEntry entry_;
  const std::shared_ptr<InflatedRoom> room_;
  int64_t extent_ = 0;  // as far as its tensors reach: more is never inflated
  int tensors_ = 0;
  // Held by a thread that inflates. Never taken while the room is locked, but to try.
  std::mutex guard_;
  int readers_ = 0;  // guarded by guard_
  int inflations_ = 0;
  std::optional<Error> trouble_;
  std::unique_ptr<InflateStream> stream_;
  std::unique_ptr<std::byte[]> memory_;
  std::optional<UnnamedFile> disk_;
  std::vector<std::byte> chunk_;
  std::atomic<int64_t> ready_ = 0;  // bytes that can be read
};

}  // namespace assay
