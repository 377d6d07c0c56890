// A tensor that several ranks of one side hold, against one of the other side: one row for all ranks.
#pragma once

#include "assay/match/alike/group_plans.h"

namespace assay {

// Joins the group in one row where every rank is there, each with one stretch or copy, and nothing speaks
// against it; false where it does not.
bool join_in_one_row(PairingBuilder& builder, const PartGroup& group,
                     const std::vector<Arrangement>& arrangement, Why why, const std::string& note,
                     const Doubts& doubts, KnownShares& known);

}  // namespace assay
