// Loaded in front of the probe: every byte that it writes to a file takes its time, SLOW_DISK_MIB_S in a
// second.
#include <dlfcn.h>
#include <sys/uio.h>
#include <time.h>

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
