// Compaction beside a dump that is being written.
#pragma once

#include "assay/run/compact.h"

namespace assay {

// Until nothing has happened for request.idle_s, or until SIGINT or SIGTERM, which is no error here.
Result<CompactOutcome> compact_watching(const CompactRequest& request);

}  // namespace assay
