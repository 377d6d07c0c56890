// `msprobe parse`: ATB tensors (.bin) become .npy or .pt files.
#pragma once

#include "cli/argparse.h"

namespace assay::cli {

ForeignCommand msprobe_parse_command();
// Logs what it writes; errors are for the log too.
Result<void> run_msprobe_parse(const Parsed& parsed);

}  // namespace assay::cli
