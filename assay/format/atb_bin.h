// Tensor files of the ATB acceleration library: a text header, then raw data. All generations.
// Layout of the bytes: docs/formats/atb_bin.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format atb_bin_format;
}  // namespace assay
