// What this machine lets us use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

size_t thread_count(int wanted);        // 0: as many as the process may run on
int64_t physical_memory();              // bytes
int64_t memory_budget(int64_t wanted);  // 0: a quarter of the memory, at most 8 GiB

}  // namespace assay
