// Rows for the program that asked for a run through the C interface: what --report jsonl writes, as it comes.
#pragma once

#include "assay/base/caller.h"
#include "assay/report/report.h"

namespace assay {

// `caller` outlives the sink.
std::unique_ptr<Sink> rows_for(Caller& caller, const Profile& profile);

}  // namespace assay
