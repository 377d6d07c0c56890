// assay errcheck DUMP: where numbers end. A run like any other, in which no tensor stands against another:
// each is looked at, and the first operator that was given finite numbers and gave others is told from those
// behind it.
#pragma once

#include "assay/run/compare/compare.h"

namespace assay {

// Turns a request for comparing into one that looks at each tensor of request.mine. Its rules are there
// already. An error where one of them asks for a column that there is not.
Result<void> check_numbers(CompareRequest& request);

}  // namespace assay
