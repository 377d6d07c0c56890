#include "assay/run/compare/gather_bounded.h"

#include "assay/run/compare/gather_bands.h"

namespace assay {

namespace {

Result<Bounded> gather_of_way(const Operand& mine, const Expected& expected) {
  return gather_bands<Bounded>(mine.meta.shape.count(), [&](int64_t first, int64_t count) {
    BoundedScratch scratch;
    return gather_bounded(mine, expected, first, count, scratch);
  });
}

bool explains_more(const Bounded& a, const Bounded& b) {
  return a.beyond != b.beyond ? a.beyond < b.beyond : a.worst < b.worst;
}

}  // namespace

Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected) {
  ASSAY_TRY(Bounded best, gather_of_way(mine, expected));
  for (const auto& make : expected.other_ways) {
    if (best.beyond == 0) break;
    ASSAY_TRY(const Expected other, make());
    ASSAY_TRY(const Bounded found, gather_of_way(mine, other));
    if (explains_more(found, best)) best = found;
  }
  return best;
}

}  // namespace assay
