// `msit llm logitscmp`: two folders of logits, file by file.
#pragma once

#include "cli/msit/flags.h"

namespace assay::cli {

ForeignCommand logitscmp_command();
int run_logitscmp(const Parsed& parsed, Tool tool, const Context& context);

}  // namespace assay::cli
