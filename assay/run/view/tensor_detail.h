// Looks closely at one tensor of a report, in its dumps.
#pragma once

#include "assay/report/page/stored.h"
#include "assay/run/compare/compare.h"

#include <functional>

namespace assay {

// JSON of the detail. `how` has the dumps, and how tensors are paired; `is_gone`: nobody waits for it any
// more. Any thread.
Result<std::string> tensor_detail(CompareRequest how, const StoredPair& pair,
                                  const std::function<void(double share)>& progress,
                                  const std::function<bool()>& is_gone);

}  // namespace assay
