// PyTorch files: the zip container of torch 1.6 and later, and the bare pickles before it. The pickle is
// interpreted by a machine that builds tensors and containers and nothing else; no code in it can run. Layout
// of the bytes: docs/formats/pt.md
#pragma once

#include "assay/format/format.h"

namespace assay {
extern const Format pt_format;
extern const Format pt_legacy_format;
}  // namespace assay
