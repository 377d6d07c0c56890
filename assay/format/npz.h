// NumPy .npz archives: a zip of .npy files, stored or deflated.
// Layout of the bytes: docs/formats/npz.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format npz_format;
}  // namespace assay
