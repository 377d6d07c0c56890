// A cell as the index of a dump holds it.
#pragma once

#include "assay/model/value.h"

namespace assay {

// Borrows the text. Digits that a signed integer of 64 bits does not hold are a number, as Scalar::big().
Scalar scalar_of(const Value& value);

}  // namespace assay
