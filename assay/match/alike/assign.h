// Which of several tensors belong together, chosen as a whole.
#pragma once

#include "assay/match/alike/effort.h"
#include "assay/match/alike/holders.h"

namespace assay {

// Tensors that all hold the same.
struct Tie {
  std::vector<Holder*> mine, golden;
};

struct Nearest {
  std::vector<std::pair<Holder*, Holder*>> sure;  // nearer to each other than anything else
  std::vector<Tie> tied;
  int64_t spent = 0;  // comparisons of those that no cell told
  bool was_cut_short = false;
};

// Of tensors with as many elements; pairs farther apart than `limit` are none. What is all but equal is found
// in time that grows with the number of tensors, unless most of them are; the others are held against each
// other where that takes no more than `most` comparisons. Nothing is found where the effort allows no more.
Nearest find_nearest(const std::vector<Holder*>& mine, const std::vector<Holder*>& golden, double limit,
                     int64_t most, Effort& effort);

// More are taken in their order: the time grows with the third power.
constexpr int64_t kMostAssigned = 300;

// One to one, so that the names are as alike as they can be altogether.
std::vector<std::pair<Holder*, Holder*>> assign_by_name(const std::vector<Holder*>& mine,
                                                        const std::vector<Holder*>& golden);

}  // namespace assay
