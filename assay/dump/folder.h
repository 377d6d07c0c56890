// A folder of tensor files: one frame, a node per file, its tensors as items, in natural order of the paths
// or in the order of a manifest. What counts as a tensor file and how items are named: docs/formats/folder.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {
extern const Layout folder_layout;
}  // namespace assay
