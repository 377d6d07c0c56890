#include "assay/run/compare/gather_bounded.h"

#include "assay/base/cancel.h"
#include "assay/support/parallel.h"

#include <algorithm>

namespace assay {

Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected) {
  const int64_t total = mine.meta.shape.count();
  const auto bands = static_cast<size_t>((total + kBandElements - 1) / kBandElements);
  std::vector<Result<Bounded>> found(bands);
  const auto gather = [&](size_t i) {
    if (cancelled()) return;
    BoundedScratch scratch;
    const int64_t first = static_cast<int64_t>(i) * kBandElements;
    found[i] = gather_bounded(mine, expected, first, std::min(kBandElements, total - first), scratch);
  };
  parallel_for(bands, gather, WhileWaiting::stands);
  ASSAY_TRY_DO(check_cancelled());
  Bounded all;
  for (Result<Bounded>& band : found) {
    if (!band) return tl::unexpected<Error>(std::move(band.error()));
    all.merge(*band);
  }
  return all;
}

}  // namespace assay
