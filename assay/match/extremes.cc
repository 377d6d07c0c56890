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
      if (!pair.mine || !pair.golden || pair.plans != nullptr) continue;
      const bool mine = keeps_extremes(frames, Side::mine, *pair.mine);
      if (mine == keeps_extremes(frames, pair.golden_side(), *pair.golden)) continue;
      PairPlans& plans = pairing.plans.emplace_back();
      const Side whole = mine ? Side::golden : Side::mine;
      plans.of(whole) = as_it_stands(whole, whole == Side::mine ? *pair.mine : *pair.golden);
      plans.of(whole).add(PlanOp::extremes);
      pair.plans = &plans;
    }
}

}  // namespace assay
