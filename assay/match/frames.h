// Which frames are compared with each other.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// One frame on each side: these two, wherever they were taken. Otherwise frames of the same rank, step, graph
// and token (where each side has one rank: whatever its number); several processes of one place in the order
// of their numbers, with a warning, unless one side has all the numbers of the other. A frame that only one
// side has is a section with an empty side, at its place. Where no frame has a counterpart, but there are as
// many on both sides, they are paired in order, with a warning. options.frames_in_order: the k-th rank with
// the k-th, whatever their numbers (options.order_ranks may change their order); an error if one side has
// more. A rank that has a dump.json only on one side and a debug.json only on the other is two
// sections with an empty side each, and so are processes beside ranks.
Result<std::vector<Section>> sections_by_at(const Dump& mine, const Dump& golden,
                                            const MatchOptions& options);

// Where there is one dump alone: each rank, step and token by itself.
Result<std::vector<Section>> sections_of_one_dump(const Dump& mine, const Dump& golden,
                                                  const MatchOptions& options);

// Marks the pairs of a section whose two ranks have different numbers.
void mark_other_ranks(Matched& matched);

}  // namespace assay
