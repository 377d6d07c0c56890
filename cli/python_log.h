// The words of Python's logging module, which the logs of the tools we stand in for have.
#pragma once

#include "assay/support/log.h"

namespace assay::cli {

std::string_view python_level(log::Level level);  // "WARNING"

}  // namespace assay::cli
