// Statistics that no tensor has: equal ones show nothing then.
#pragma once

#include "assay/judge/judge.h"

#include <optional>
#include <string>

namespace assay {

// Why one of the sides of a row cannot be right, in what its dump states; nothing of rows that are not
// compared by that.
std::optional<std::string> impossible_in(const Comparison& row, const Head& head);

}  // namespace assay
