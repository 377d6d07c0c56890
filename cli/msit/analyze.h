// `msit llm analyze` and `msit llm bcanalyze`: questions that one run answers and the other does not.
#pragma once

#include "cli/msit/flags.h"

namespace assay::cli {

ForeignCommand analyze_command();
int run_analyze(const Parsed& parsed, Tool tool, const Context& context);

ForeignCommand bcanalyze_command();
int run_bcanalyze(const Parsed& parsed, Tool tool, const Context& context);

}  // namespace assay::cli
