// Which operators of two graphs are the same, where one of them has more: those that quantisation inserted.
#pragma once

#include "assay/model/graph.h"

namespace assay {

// Pairs two lists of operators in order, so that as many as possible have the same type (longest common
// subsequence); between them, blocks of other names that hold much the same. What one graph has inserted
// finds no partner. Lists too long for that are paired by type and count.
std::vector<std::pair<int32_t, int32_t>> align_ops(const Graph& mine_tree, const std::vector<int32_t>& mine,
                                                   const Graph& golden_tree,
                                                   const std::vector<int32_t>& golden);

}  // namespace assay
