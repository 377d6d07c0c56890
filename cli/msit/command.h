// `assay msit llm …` and `assay ait llm …`: the command lines of msit and of its older name ait.
#pragma once

#include "cli/commands.h"
#include "cli/msit/log.h"

#include <span>

namespace assay::cli {

// arguments: what stands behind "msit". The exit code is that of the original: 0 whatever was found, 1 for
// errors, 2 for a wrong command line or what is not served.
int run_msit(std::span<const std::string> arguments, Tool tool, const Context& context);

}  // namespace assay::cli
