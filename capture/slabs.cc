#include "capture/slabs.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

namespace assay::capture {
namespace {

constexpr int64_t kSmall = int64_t{128} << 10;  // below this the allocator of the host reuses pages by itself
constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

int64_t Slabs::rounded(int64_t bytes) {
  if (bytes < kSmall) return bytes;
  const int64_t step = bytes < kHugePage ? int64_t{64} << 10 : kHugePage;
  return (bytes + step - 1) / step * step;
}

Slabs::~Slabs() { trim(); }

void Slabs::trim() {
  std::multimap<int64_t, std::byte*> unused;
  {
    const std::lock_guard lock(guard_);
    unused.swap(free_);
    for (const auto& [capacity, data] : unused) held_ -= capacity;
  }
  for (const auto& [capacity, data] : unused) ::munmap(data, static_cast<size_t>(capacity));
}

Slab Slabs::take(int64_t bytes) {
  if (bytes < kSmall)
    return {static_cast<std::byte*>(std::malloc(static_cast<size_t>(bytes > 0 ? bytes : 1))), bytes};
  const int64_t capacity = rounded(bytes);
  std::multimap<int64_t, std::byte*> unused;
  {
    const std::lock_guard lock(guard_);
    const auto found = free_.lower_bound(capacity);
    if (found != free_.end() && found->first <= capacity + capacity / 4) {
      const Slab slab{found->second, found->first};
      free_.erase(found);
      return slab;
    }
    while (held_ + capacity > budget_ && !free_.empty()) {  // pieces of other sizes make room
      held_ -= free_.begin()->first;
      unused.insert(free_.extract(free_.begin()));
    }
    held_ += capacity;
  }
  for (const auto& [size, data] : unused) ::munmap(data, static_cast<size_t>(size));
  void* const memory = ::mmap(nullptr, static_cast<size_t>(capacity), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    const std::lock_guard lock(guard_);
    held_ -= capacity;
    return {};
  }
  if (capacity >= kHugePage) ::madvise(memory, static_cast<size_t>(capacity), MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), capacity};
}

void Slabs::give(Slab slab) {
  if (slab.data == nullptr) return;
  if (slab.capacity < kSmall) {
    std::free(slab.data);
    return;
  }
  const std::lock_guard lock(guard_);
  free_.emplace(slab.capacity, slab.data);
}

}  // namespace assay::capture
