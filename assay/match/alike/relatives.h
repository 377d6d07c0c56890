// Tensors whose names say that they may be parts of one: query, key and value; the experts of a layer.
#pragma once

#include "assay/match/alike/holders.h"

namespace assay {

// Each alone where ranks share it out; pairs and threes of siblings; all of a numbered series.
std::vector<std::vector<Holder*>> list_relatives(const std::vector<Holder*>& holders);

}  // namespace assay
