#include "assay/run/compare/gather_parallel.h"

#include "assay/base/mapping.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <memory>

namespace assay {
namespace {

struct Band {
  int64_t first;  // element
  std::optional<Result<Gathered>> gathered = {};
};

// Bands go out in rising order and are merged in rising order, so every thread reads its operands forwards.
Result<Gathered> pass(const Operand& mine, const Operand& golden, const GatherPlan& plan, int scale,
                      bool may_map, Progress& progress) {
  const int64_t total = mine.meta.shape.count();
  const int64_t bytes_per_element = size_of(mine.meta.dtype) + size_of(golden.meta.dtype);
  PerThread<PairScratch> scratches([may_map] {
    PairScratch scratch;
    scratch.mine.may_map = scratch.golden.may_map = may_map;
    return scratch;
  });
  int64_t next = 0;
  std::unique_ptr<Gathered> all;
  std::optional<Error> error;
  const auto next_band = [&]() -> std::unique_ptr<Band> {
    if (next >= total || error) return nullptr;
    const int64_t first = std::exchange(next, next + kBandElements);
    mine.will_need(first, std::min(2 * kBandElements, total - first));
    golden.will_need(first, std::min(2 * kBandElements, total - first));
    return std::make_unique<Band>(Band{first});
  };
  const auto gather = [&](Band& band) {
    const int64_t count = std::min(kBandElements, total - band.first);
    band.gathered = gather_band(mine, golden, plan, scale, band.first, count, scratches.local());
    progress.done(count * bytes_per_element);
  };
  const auto merge = [&](Band& band) {
    if (error) return;
    Result<Gathered>& gathered = *band.gathered;
    if (!gathered)
      error = gathered.error();
    else if (!all)
      all = std::make_unique<Gathered>(std::move(*gathered));
    else
      all->merge(*gathered);
  };
  // A thread that waits here must not start another pair and hold the buffers of both.
  Pipeline<Band>(next_band)
      .then(StageOrder::any, gather)
      .then(StageOrder::kept, merge)
      .run(WhileWaiting::stands);
  if (error) return tl::unexpected<Error>(std::move(*error));
  return std::move(*all);
}

}  // namespace

Result<Gathered> gather_parallel(const Operand& mine, const Operand& golden, const GatherPlan& plan,
                                 PairScratch& small, Progress& progress) {
  const int64_t total = mine.meta.shape.count();
  const auto once = [&](bool may_map) -> Result<Gathered> {
    if (total <= kBandElements) {
      small.mine.may_map = small.golden.may_map = may_map;
      auto gathered = gather_pair(mine, golden, plan, small);
      progress.done(mine.meta.byte_size() + golden.meta.byte_size());
      return gathered;
    }
    ASSAY_TRY(Gathered gathered, pass(mine, golden, plan, 0, may_map, progress));
    if (const int scale = better_scale(gathered)) {
      ASSAY_TRY(const Gathered scaled, pass(mine, golden, {gather::scaled}, scale, may_map, progress));
      gathered.take_sums(scaled);
    }
    small.forget();
    ASSAY_TRY_DO(add_checksums(mine, golden, plan.needs, small, gathered));
    return gathered;
  };
  const int64_t lost_before = lost_pages();
  Result<Gathered> gathered = once(true);
  small.forget();  // a window on a mapping notices a shorter file when it closes
  if (lost_pages() == lost_before) return gathered;
  // A file shrank while it was mapped: read it again, and let the read say what is missing.
  gathered = once(false);
  small.forget();  // what it keeps of the operands must not outlive them
  return gathered;
}

}  // namespace assay
