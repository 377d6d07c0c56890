#include "assay/run/resources.h"

#include "assay/support/inflated_entry.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

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

void limit_files(FormatOptions& options, int64_t memory, int threads, bool trusted) {
  const int64_t budget = memory_budget(memory);
  options.memory = budget / static_cast<int64_t>(2 * thread_count(threads));
  options.trusted = trusted;
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  options.inflated = std::make_shared<InflatedRoom>(
      InflatedLimits{.memory = budget / 4, .disk = trusted ? kNoLimit : std::min(budget, kNoLimit / 4) * 4});
}

}  // namespace assay
