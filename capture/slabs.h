// Memory for tensors that wait to be written. Large pieces are kept and used again: fresh pages cost more
// than the copy into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace assay::capture {

struct Slab {
  std::byte* data = nullptr;
  int64_t capacity = 0;
};

class Slabs {
 public:
  explicit Slabs(int64_t budget) : budget_(budget) {}
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // `data` is null where there is no memory left.
  Slab take(int64_t bytes);
  void give(Slab slab);
  // Hands what nobody uses back to the system.
  void trim();

  // What a piece of so many bytes takes.
  static int64_t rounded(int64_t bytes);

  // Around fork(): the child gets the pieces as they are.
  void lock() { guard_.lock(); }
  void unlock() { guard_.unlock(); }

 private:
  const int64_t budget_;
  std::mutex guard_;
  std::multimap<int64_t, std::byte*> free_;  // by capacity
  int64_t held_ = 0;                         // bytes of all pieces that are mapped, in use or not
};

}  // namespace assay::capture
