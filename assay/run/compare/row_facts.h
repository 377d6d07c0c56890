// What a row is, as far as the files of its two sides tell.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

// What the file says of it: ": t.bin: holds no data; it refers to …".
std::string why_no_data(const Item& item);

// The smallest and the largest element are all that one side keeps: files of that form, by name and shape.
bool is_range(const Comparison& row);

// The side as what its ranks hold all together, in as many dimensions as each of them has.
void describe_joined(const OperandPtr& joined, SideFacts& side);

}  // namespace assay
