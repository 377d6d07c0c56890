// safetensors: a JSON header, then the tensors. Also the index.json of a checkpoint in several files.
// Layout of the bytes: docs/formats/safetensors.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format safetensors_format;
extern const Format safetensors_index_format;
}  // namespace assay
