// What the command lines of other tools share.
#pragma once

#include "assay/base/result.h"
#include "assay/model/outcome.h"
#include "assay/support/log.h"

#include <string_view>

namespace assay::cli {

// Where the rules of another tool pair little by nature, this share of the larger side is enough for success.
inline constexpr double kLeastPaired = 0.1;

// Other tools end with 0 whatever they found; ours are an error where nothing was compared, or too little.
// Its exit code is 2, where that of all others is theirs.
Result<void> require_enough(const Summary& summary);
int exit_code(const Error& error, int theirs);

// In the words of Python's logging module: "WARNING".
std::string_view python_level(log::Level level);

}  // namespace assay::cli
