// How the generations of msprobe join rows whose names, or names without call numbers, are equal.
#pragma once

#include "assay/compat/msprobe/metric/generation.h"
#include "assay/match/matcher.h"

namespace assay {

// Every row with every one of the same name whose element type is compatible, and whose shape is the same
// (not in generation 3).
Join msprobe_join(Generation generation, const Mappings& mappings);

// Row by row, by two queues: the newest row of one side takes the oldest of the other that fits, and what
// stands before the two is dropped.
JoinFuzzily msprobe_fuzzy_join(Generation generation, const Mappings& mappings);

// Generation 1 pairs ranks in the order of their names, where rank10 comes before rank2; says so where it
// matters. For MatchOptions::order_ranks.
void order_ranks_by_name(std::vector<int>& mine, std::vector<int>& golden);

// The name that msprobe compares in its fuzzy mode. It cuts off the two pieces before the first "forward"
// (else "backward"), wherever that stands: the call number of an API, but the class of a module, whose number
// comes later. `out` is overwritten.
void strip_call_of_msprobe(std::string_view name, std::string& out);

}  // namespace assay
