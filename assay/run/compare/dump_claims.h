// What a dump says of a tensor whose data it holds as well. Where the two cannot both be true, one of them is
// not what was dumped, and nobody can tell which: such a tensor was not compared.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/model/outcome.h"

namespace assay {

// Why a file that holds `held` cannot be what the dump describes; empty where it can.
std::string contradiction_of_type(const Item& item, const TensorMeta& held, const fs::path& file);

// The same of the elements of mine and of golden, which were gathered whole. Exact but for the rounding that
// the numbers of a dump have seen.
std::string contradiction_of_elements(const Comparison& row, const PairSums& gathered);

}  // namespace assay
