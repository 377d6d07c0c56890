// Compaction beside a dump that is being written.
#pragma once

#include "assay/run/compact/compact.h"

namespace assay {

// A dump that has not begun has no folder yet. Waits for it as long as for anything else.
Result<void> wait_for_root(const CompactRequest& request);

// Until nothing has happened for request.idle_s, or until SIGINT or SIGTERM, which is no error here.
Result<CompactOutcome> compact_watching(const CompactRequest& request);

}  // namespace assay
