// Reading large files without copying them. A mapping filled in advance (MADV_POPULATE_READ) costs half of
// what pread does from the page cache, measured; without that advice (Linux before 5.14) it costs more, and
// we read.
//
// A file that shrinks under a mapping raises SIGBUS. A handler puts zeros in the place of the lost page and
// counts; whoever read through a mapping compares the count before and after, and reads again with pread
// where it rose. Nothing is mapped for a caller (base/caller.h): the handlers of its process are not ours.
#pragma once

#include "assay/base/file.h"

#include <atomic>
#include <memory>
#include <optional>

namespace assay {

// The whole of a file in the address space; nothing is resident until a window asks for it.
class Mapping {
 public:
  // Null where the file cannot be mapped or filled in advance.
  static std::unique_ptr<Mapping> make(int descriptor, int64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  bool broken() const;     // a page of it was lost
  void note_loss() const;  // the file was found to be shorter than what was seen of it

 private:
  Mapping(const std::byte* data, int64_t size, size_t slot) : data_(data), size_(size), slot_(slot) {}
  const std::byte* data_;
  int64_t size_;
  size_t slot_;  // place in the table that the signal handler reads
};

// Lost pages so far, in all mappings of the process.
int64_t lost_pages();

// One reader's sight of a file: a few MiB are resident at a time.
class MappedWindow {
 public:
  explicit MappedWindow(std::shared_ptr<const File> file) : file_(std::move(file)) {}
  ~MappedWindow() { drop(); }
  MappedWindow(const MappedWindow&) = delete;
  MappedWindow& operator=(const MappedWindow&) = delete;

  // Bytes [offset, offset + length) of the file until the next call; nothing where they must be read instead.
  std::optional<Bytes> view(int64_t offset, int64_t length);

 private:
  void drop();
  std::shared_ptr<const File> file_;
  int64_t begin_ = 0, end_ = 0;  // resident
  int64_t viewed_end_ = 0;       // how far a reader was let see
};

}  // namespace assay
