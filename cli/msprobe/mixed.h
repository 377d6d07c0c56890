// Dumps of MindSpore from 2.7, which has graphs and the rest of a run apart:
// {graph,pynative}/step{S}/rank{R}.
#pragma once

#include "cli/msprobe/job.h"

#include <functional>

namespace assay::cli {

bool is_mixed(const MsprobeJob& job);  // both runs have one of the two folders

// Each step gets a folder of its own. A folder that only one run has is said, and counts as not compared.
Result<void> compare_mixed(const MsprobeJob& job,
                           const std::function<Result<void>(const MsprobeJob&)>& compare_step);

}  // namespace assay::cli
