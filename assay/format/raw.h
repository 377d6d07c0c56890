// Bytes without a header; dtype and shape come from the command line (--dtype, --shape).
// Layout of the bytes: docs/formats/raw.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format raw_format;
}  // namespace assay
