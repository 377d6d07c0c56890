// Which frames of two inference dumps are compared: token by token, rank by rank, or all ranks as one.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// As many ranks on both sides: the k-th with the k-th. Otherwise one rank of each side stands for all of
// them, and the parts that the others hold are joined when a tensor is read. options.any_tokens: where the
// two have no token in common, each is held against each.
Result<std::vector<Section>> sections_by_token(const Dump& mine, const Dump& golden,
                                               const MatchOptions& options);

}  // namespace assay
