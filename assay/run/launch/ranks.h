// Ranks that are started side by side, each through a launcher of its own, and record into one folder.
#pragma once

#include "assay/base/clock.h"
#include "assay/base/file.h"

#include <functional>

namespace assay {

// How many this machine has, as torchrun says it (LOCAL_WORLD_SIZE); 1 where it does not.
int64_t ranks_here();

// The time that names the folder of all of them: the first that asks takes `choose()`, the others get the
// same, by a file in `root` that the last one removes. Where there can be no such file, each has its own.
Moment time_of_ranks(const fs::path& root, int64_t ranks, const std::function<Moment()>& choose);

}  // namespace assay
