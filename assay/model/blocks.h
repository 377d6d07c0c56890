// Tensors of which a dump states how they lie in storage, in blocks that are filled up with zeros.
#pragma once

#include "assay/model/dump.h"

namespace assay {

bool is_blocked_format(const std::vector<Fact>& facts);  // "storage_format": FRACTAL_NZ, NC1HWC0, …

// Its shape is that of the blocks: there is no data that was put back into the tensor's own shape.
inline bool states_blocks(const Item& item) {
  return !item.data && item.facts != nullptr && is_blocked_format(*item.facts);
}

}  // namespace assay
