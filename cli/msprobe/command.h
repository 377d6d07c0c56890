// `assay msprobe …`: the command lines of msprobe, its three generations.
#pragma once

#include "cli/commands.h"

#include <span>

namespace assay::cli {

// arguments: what stands behind "msprobe". The exit code is that of the original: 0 whatever was found, 1 for
// errors, 2 for a wrong command line.
int run_msprobe(std::span<const std::string> arguments, const Context& context);

}  // namespace assay::cli
