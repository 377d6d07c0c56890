// Dump files of the graph engine (GE): a DumpData message, then inputs, outputs, buffers, spaces.
// Layout of the bytes: docs/formats/ge_dump.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format ge_dump_format;
}  // namespace assay
