// A pass over one tensor, or a pair of them, on all cores: bands are gathered each by itself and merged in
// order.
#pragma once

#include "assay/base/cancel.h"
#include "assay/base/result.h"
#include "assay/metric/band.h"
#include "assay/support/parallel.h"
#include "assay/support/progress.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
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

// gather(first, count, scratch) makes a Result<Part> of a band. Bands go out in rising order and are merged
// in rising order, so every thread reads its operands forwards. Precondition: the pair has elements.
template <class Part, class Gather>
Result<Part> gather_bands_of_pair(const Operand& mine, const Operand& golden, bool may_map,
                                  Progress& progress, const Gather& gather) {
  struct Band {
    int64_t first;  // element
    std::optional<Result<Part>> part = {};
  };
  const int64_t total = mine.meta.shape.count();
  const int64_t bytes_per_element = size_of(mine.meta.dtype) + size_of(golden.meta.dtype);
  PerThread<PairScratch> scratches([may_map] {
    PairScratch scratch;
    scratch.mine.may_map = scratch.golden.may_map = may_map;
    return scratch;
  });
  int64_t next = 0;
  std::unique_ptr<Part> all;
  std::optional<Error> error;
  const auto next_band = [&]() -> std::unique_ptr<Band> {
    if (next >= total || error) return nullptr;
    const int64_t first = std::exchange(next, next + kBandElements);
    mine.will_need(first, std::min(2 * kBandElements, total - first));
    golden.will_need(first, std::min(2 * kBandElements, total - first));
    return std::make_unique<Band>(Band{first});
  };
  const auto gather_band = [&](Band& band) {
    const int64_t count = std::min(kBandElements, total - band.first);
    band.part = gather(band.first, count, scratches.local());
    progress.done(count * bytes_per_element);
  };
  const auto merge = [&](Band& band) {
    if (error) return;
    Result<Part>& part = *band.part;
    if (!part)
      error = part.error();
    else if (!all)
      all = std::make_unique<Part>(std::move(*part));
    else
      all->merge(std::move(*part));
  };
  // A thread that waits here must not start another pair and hold the buffers of both.
  Pipeline<Band>(next_band)
      .then(StageOrder::any, gather_band)
      .then(StageOrder::kept, merge)
      .run(WhileWaiting::stands);
  if (error) return tl::unexpected<Error>(std::move(*error));
  return std::move(*all);
}

}  // namespace assay
