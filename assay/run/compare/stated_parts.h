// Statistics of a tensor from those of the parts it is made of.
#pragma once

#include "assay/model/dump.h"

namespace assay {

struct StatedPart {
  const Stated* stated = nullptr;
  int64_t count = 0;  // elements
};

// Nothing where a part has no numbers.
std::optional<Stated> join_stated(const std::vector<StatedPart>& parts);

}  // namespace assay
