#include "assay/model/logits.h"

#include <algorithm>

namespace assay {

bool are_logits(const Item& item) {
  if (item.facts == nullptr) return false;
  return std::ranges::any_of(*item.facts, [](const Fact& fact) { return fact.key == kLogitsToken; });
}

}  // namespace assay
