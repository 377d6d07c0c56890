// Dumps of the acceleration library (ATB):
// tensors/{device}_{pid}/{round}/{order}_{type}/…/{before,after}/*.bin with topology files beside them, and
// the same as msprobe lays it out. One frame per rank and token. docs/formats/atb.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {
extern const Layout atb_layout;
}
