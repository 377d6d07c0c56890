// How the generations of msprobe compute relative errors. What is special about each: docs/metrics.md
#pragma once

#include "assay/compat/msprobe/metric/generation.h"
#include "assay/compat/msprobe/metric/tile_errors.h"

namespace assay {

// `mine`, `golden`: the types as they were dumped.
tile::MsprobeRule msprobe_rule(Generation generation, DType mine, DType golden);

}  // namespace assay
