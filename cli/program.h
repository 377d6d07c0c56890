// What the `assay` program does, for whoever calls it: main(), or the C interface (library/).
#pragma once

#include "assay/base/result.h"

#include <span>
#include <string>

namespace assay::cli {

// words: the name that the program was called by, and its arguments. The exit code; an error is one line, and
// exit code 2.
Result<int> run_program(std::span<const std::string> words);

}  // namespace assay::cli
