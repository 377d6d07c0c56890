// What a dump lacks because it was lost while it was recorded: docs/capture.md
#pragma once

#include "assay/base/file.h"
#include "assay/base/remark.h"

#include <span>

namespace assay {

// Of ranks, folders {device}_{process}, as the capture.json of their dump counts it; without one nothing is
// known. Each loss is a thing left out.
void note_losses(std::span<const fs::path> ranks, int64_t memory, Remarks& warnings);

}  // namespace assay
