// Which of several tensors belong together, chosen as a whole.
#pragma once

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
// in time that grows with the number of tensors; the others are held against each other where that takes no
// more than `most` comparisons.
Nearest find_nearest(const std::vector<Holder*>& mine, const std::vector<Holder*>& golden, double limit,
                     int64_t most);

// One to one, so that the names are as alike as they can be altogether.
std::vector<std::pair<Holder*, Holder*>> assign_by_name(const std::vector<Holder*>& mine,
                                                        const std::vector<Holder*>& golden);

}  // namespace assay
