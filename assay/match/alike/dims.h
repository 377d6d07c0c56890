// What the ways in which tensors lie in each other are counted with.
#pragma once

#include "assay/match/alike/arrange.h"

namespace assay {

using Dims = std::vector<int64_t>;

Dims strides_of(const Dims& dims);
int64_t product(const Dims& dims);
std::vector<int64_t> divisors(int64_t number);  // in ascending order
// Neighbouring dimensions that are walked as one are one: two views of the same elements look the same.
Piece simplified(Piece piece);

// Queries, keys and values of as many heads, or with several queries for each key; gate and up.
extern const std::vector<std::vector<int64_t>> kFusedRatios;

}  // namespace assay
