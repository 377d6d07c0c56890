// One tensor file by itself: one frame, a node per tensor, an item per node.
#pragma once

#include "assay/dump/layout.h"

namespace assay {
extern const Layout single_layout;
}  // namespace assay
