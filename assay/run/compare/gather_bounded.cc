#include "assay/run/compare/gather_bounded.h"

#include "assay/run/compare/gather_bands.h"

namespace assay {

Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected) {
  return gather_bands<Bounded>(mine.meta.shape.count(), [&](int64_t first, int64_t count) {
    BoundedScratch scratch;
    return gather_bounded(mine, expected, first, count, scratch);
  });
}

}  // namespace assay
