#include "assay/run/resources.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace assay {

size_t thread_count(int wanted) {
  if (wanted > 0) return static_cast<size_t>(wanted);
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&allowed)));
}

int64_t physical_memory() { return ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE); }

int64_t memory_budget(int64_t wanted) {
  if (wanted > 0) return wanted;
  return std::min(physical_memory() / 4, int64_t{8} << 30);
}

}  // namespace assay
