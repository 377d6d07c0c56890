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
};

// Of tensors with as many elements; pairs farther apart than `limit` are none.
Nearest find_nearest(const std::vector<Holder*>& mine, const std::vector<Holder*>& golden, double limit);

// One to one, so that the names are as alike as they can be altogether.
std::vector<std::pair<Holder*, Holder*>> assign_by_name(const std::vector<Holder*>& mine,
                                                        const std::vector<Holder*>& golden);

}  // namespace assay
