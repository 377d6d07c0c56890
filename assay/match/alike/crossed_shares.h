// Ranks of both sides that hold shares of one tensor which do not stand against each other one by one: rows
// on one side and columns on the other, or a vocabulary that only one side rounded up before it was shared
// out.
#pragma once

#include "assay/match/alike/arrange.h"

namespace assay {

// Each of `parts` shares, of shape `part`, in the `wholes` shares of the other side joined. Each inner list
// has an arrangement of every share.
std::vector<std::vector<Arrangement>> crossed_shares(const Shape& part, size_t parts, const Shape& whole,
                                                     size_t wholes);

}  // namespace assay
