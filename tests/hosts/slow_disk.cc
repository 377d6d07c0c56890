// Loaded in front of the probe: every byte that it writes to a file takes its time, SLOW_DISK_MIB_S in a
// second, and the question how much room there is SLOW_ROOM_MS; with OLD_KERNEL=1 no open file is linked by
// its descriptor, as before Linux 6.10 for most users.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>

extern "C" ssize_t writev(int file, const struct iovec* parts, int count) {
  using Write = ssize_t (*)(int, const struct iovec*, int);
  static const auto real = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "writev"));
  const char* const rate = std::getenv("SLOW_DISK_MIB_S");
  const ssize_t done = real(file, parts, count);
  if (rate == nullptr || done <= 0) return done;
  const double seconds = static_cast<double>(done) / (std::atof(rate) * 1048576.0);
  timespec left = {static_cast<time_t>(seconds),
                   static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
  return done;
}

extern "C" int statvfs(const char* path, struct statvfs* out) noexcept {
  using Ask = int (*)(const char*, struct statvfs*);
  static const auto real = reinterpret_cast<Ask>(dlsym(RTLD_NEXT, "statvfs"));
  const char* const wait = std::getenv("SLOW_ROOM_MS");
  if (const long ms = wait == nullptr ? 0 : std::atol(wait); ms > 0) {
    const timespec time = {ms / 1000, ms % 1000 * 1'000'000};
    nanosleep(&time, nullptr);
  }
  return real(path, out);
}

extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  using Link = int (*)(int, const char*, int, const char*, int);
  static const auto real = reinterpret_cast<Link>(dlsym(RTLD_NEXT, "linkat"));
  if (std::getenv("OLD_KERNEL") != nullptr && (flags & AT_EMPTY_PATH) != 0) {
    errno = ENOENT;
    return -1;
  }
  return real(from_folder, from, to_folder, to, flags);
}
