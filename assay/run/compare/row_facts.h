// What the sides of a row are, as far as it can be told before they are compared.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

// Why an item has no data, in the words of its file: ": t.bin: holds no data; it refers to …". Empty where it
// does not say.
std::string why_no_data(const Item& item);

// The smallest and the largest element are all that one side keeps: files of that form, by name and shape.
bool is_range(const Comparison& row);

}  // namespace assay
