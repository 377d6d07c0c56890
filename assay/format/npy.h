// NumPy .npy files, versions 1.0 to 3.0. C and Fortran order, little and big endian.
// Layout of the bytes: docs/formats/npy.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format npy_format;
}  // namespace assay
