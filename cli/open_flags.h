// Flags that say how a file or folder is opened, for callers without a command line.
#pragma once

#include "assay/run/inspect/inspect.h"

#include <span>
#include <string>

namespace assay::cli {

// words: those of `assay inspect` but for what it shows: --only, --skip, --layout, --dtype, --shape,
// --offset, --memory, --threads,
// --trusted.
Result<InspectRequest> read_open_flags(const std::string& path, std::span<const std::string> words);

}  // namespace assay::cli
