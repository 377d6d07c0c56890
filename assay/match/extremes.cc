#include "assay/match/extremes.h"

namespace assay {
namespace {

bool keeps_extremes(const Indexed& frames, Side side, const ItemId& id) {
  const Item& item = frames.item(side, id);
  return item.data && frames.frame(side, id).files[static_cast<size_t>(item.data->file)].keeps_extremes();
}

}  // namespace

void attach_extremes(const Indexed& frames, Pairing& pairing) {
  for (PairedNode& node : pairing.nodes)
    for (Pair& pair : node.pairs) {
      if (!pair.mine || !pair.golden || pair.recipe != nullptr) continue;
      const bool mine = keeps_extremes(frames, Side::mine, *pair.mine);
      if (mine == keeps_extremes(frames, pair.golden_side(), *pair.golden)) continue;
      Recipe& recipe = pairing.recipes.emplace_back();
      recipe.range_of = mine ? Side::golden : Side::mine;
      pair.recipe = &recipe;
    }
}

}  // namespace assay
