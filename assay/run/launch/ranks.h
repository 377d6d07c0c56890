// Ranks that are started side by side, each through a launcher of its own, and record into one folder.
#pragma once

#include "assay/base/clock.h"
#include "assay/base/file.h"

#include <functional>

namespace assay {

// How many this machine has, as torchrun says it (LOCAL_WORLD_SIZE); 1 where it does not.
int64_t ranks_here();

// What ranks that run side by side agree on.
struct RanksOfStart {
  Moment time;         // that names the folder of all of them
  fs::path file = {};  // in which they met; empty: nobody waits for others
};

// The first rank that asks takes `choose()`, the others get the same, by a file in `root`: all that come
// while one of them runs. Where there can be no such file, each has its own.
RanksOfStart join_ranks(const fs::path& root, int64_t ranks, const std::function<Moment()>& choose);
// This rank has ended. The last one that does removes the file, whoever never came.
void leave_ranks(const RanksOfStart& start);

}  // namespace assay
