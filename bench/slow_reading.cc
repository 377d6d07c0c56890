// Loaded in front of a program: the processes that share a file, SLOW_READING_HOST, read SLOW_READING_MIB_S
// in a second together, whether they read or map.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Nanoseconds = int64_t;

Nanoseconds now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// When the disk of this host is free again; null: nobody limits us.
std::atomic<Nanoseconds>* free_at() {
  static std::atomic<Nanoseconds>* const shared = [] {
    const char* const path = std::getenv("SLOW_READING_HOST");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Nanoseconds)) != 0)
      return static_cast<std::atomic<Nanoseconds>*>(nullptr);
    return static_cast<std::atomic<Nanoseconds>*>(
        mmap(nullptr, sizeof(Nanoseconds), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }();
  return shared;
}

void take_time_for(size_t bytes) {
  std::atomic<Nanoseconds>* const shared = free_at();
  const char* const rate = std::getenv("SLOW_READING_MIB_S");
  if (shared == nullptr || rate == nullptr) return;
  const auto cost =
      static_cast<Nanoseconds>(static_cast<double>(bytes) / (std::atof(rate) * 1048576.0) * 1e9);
  const Nanoseconds asked = now();
  Nanoseconds before = shared->load(), done;
  do done = (before > asked ? before : asked) + cost;
  while (!shared->compare_exchange_weak(before, done));
  for (Nanoseconds left = done - now(); left > 0; left = done - now()) {
    const timespec pause = {left / 1'000'000'000, left % 1'000'000'000};
    nanosleep(&pause, nullptr);
  }
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t pread64(int file, void* out, size_t size, off64_t offset) {
  static const auto read = real<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  const ssize_t got = read(file, out, size, offset);
  if (got > 0) take_time_for(static_cast<size_t>(got));
  return got;
}

extern "C" ssize_t pread(int file, void* out, size_t size, off_t offset) {
  return pread64(file, out, size, offset);
}

extern "C" int madvise(void* start, size_t size, int advice) noexcept {
  static const auto advise = real<int (*)(void*, size_t, int)>("madvise");
  constexpr int kPopulateRead = 22;
  if (advice == kPopulateRead) take_time_for(size);
  return advise(start, size, advice);
}
