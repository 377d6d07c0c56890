// msprobe compare -m atb: two rounds of ATB, each with its statistic.csv.
#pragma once

#include "assay/base/result.h"
#include "cli/commands.h"

namespace assay::cli {

struct MsprobeAtbJob {
  fs::path mine, golden, output;
};

// Errors are those of the original, for its log.
Result<void> run_msprobe_atb(const MsprobeAtbJob& job, const Context& context);

}  // namespace assay::cli
