// Arguments of operators that are no tensors: numbers, slices, types.
#pragma once

#include "assay/model/dump.h"

namespace assay {

// Whether the dump describes such a thing. A tensor of a type that we do not know is none, though it has no
// meta either: the dumps that list arguments give every one of them a checksum, and its value in the place of
// all four statistics.
bool is_argument(const Item& item);

}  // namespace assay
