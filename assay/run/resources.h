// What this machine lets us use.
#pragma once

#include "assay/format/format.h"

#include <cstddef>
#include <cstdint>

namespace assay {

size_t thread_count(int wanted);        // 0: as many as the process may run on
int64_t physical_memory();              // bytes
int64_t memory_budget(int64_t wanted);  // 0: a quarter of the memory, at most 8 GiB

// What files may make us hold, keep and compute. `memory` as for memory_budget; `threads` as for
// thread_count: as many may open a file at the same time. `trusted`: the user vouches for the files.
void limit_files(FormatOptions& options, int64_t memory, int threads, bool trusted = false);

}  // namespace assay
