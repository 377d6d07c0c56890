// Why a row of a report was judged as it was: its account, and where the error that it inherited began.
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"

#include <string>

namespace assay {

// report: .json of `assay compare`. name: of a tensor of either side, or of an operator. The text for a user.
Result<std::string> explain(const fs::path& report, std::string_view name);

}  // namespace assay
