// `msit llm dump` and `msit llm errcheck`: programs that run ATB, started with the probe in them.
#pragma once

#include "cli/argparse.h"
#include "cli/commands.h"
#include "cli/msit/log.h"

namespace assay::cli {

ForeignCommand dump_command();
int run_msit_dump(const Parsed& parsed, Tool tool, const Context& context);

ForeignCommand errcheck_command();
int run_msit_errcheck(const Parsed& parsed, Tool tool, const Context& context);

}  // namespace assay::cli
