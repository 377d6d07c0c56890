// A pass over one tensor on all cores: bands are gathered each by itself and merged in order.
#pragma once

#include "assay/base/cancel.h"
#include "assay/base/result.h"
#include "assay/support/parallel.h"
#include "assay/tensor/operand.h"

#include <algorithm>
#include <vector>

namespace assay {

// gather(first, count) gives a Result<Sums>, from any thread; Sums has merge().
template <class Sums, class Gather>
Result<Sums> gather_bands(int64_t total, const Gather& gather) {
  const auto bands = static_cast<size_t>((total + kBandElements - 1) / kBandElements);
  std::vector<Result<Sums>> found(bands);
  const auto run = [&](size_t i) {
    if (cancelled()) return;
    const int64_t first = static_cast<int64_t>(i) * kBandElements;
    found[i] = gather(first, std::min(kBandElements, total - first));
  };
  parallel_for(bands, run, WhileWaiting::stands);
  ASSAY_TRY_DO(check_cancelled());
  Sums all;
  for (Result<Sums>& band : found) {
    if (!band) return tl::unexpected<Error>(std::move(band.error()));
    all.merge(*band);
  }
  return all;
}

}  // namespace assay
