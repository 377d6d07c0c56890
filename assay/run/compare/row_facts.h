// What a row is, as far as the files of its two sides tell.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

// Its rel_l2; NaN where nobody asked for that. columns: of its metrics.
double relative_error(std::span<const std::string> columns, const Comparison& row);

// What the file says of it: ": t.bin: holds no data; it refers to …".
std::string why_no_data(const Item& item);

// The smallest and the largest element are all that one side keeps: files of that form, by name and shape.
bool is_range(const Comparison& row);

// A plan makes one tensor of several: what is compared has another shape than any of them.
bool is_put_together(const Plan& plan);
// "3 tensors of golden joined", "the rows of 4 experts of golden", "part 2 of 3 of golden"; empty: nothing to
// say.
std::string what_was_taken(const Plan& plan, std::string_view side);

// The side as what its ranks hold all together, in as many dimensions as each of them has.
void describe_joined(const OperandPtr& joined, SideFacts& side);

}  // namespace assay
