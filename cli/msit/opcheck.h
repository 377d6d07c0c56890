// msit llm opcheck, ait llm opcheck.
#pragma once

#include "cli/argparse.h"
#include "cli/commands.h"
#include "cli/msit/log.h"

namespace assay::cli {

ForeignCommand opcheck_command();
int run_msit_opcheck(const Parsed& parsed, Tool tool, const Context& context);

}  // namespace assay::cli
