#include "assay/run/compare/gather_parallel.h"

#include "assay/base/mapping.h"
#include "assay/run/compare/gather_bands.h"
#include "assay/run/compare/shared_bands.h"

namespace assay {
namespace {

// shared: null where this process reads all of it.
Result<Gathered> pass(const Operand& mine, const Operand& golden, const GatherPlan& plan, int scale,
                      bool may_map, Progress& progress, SharedBands* shared) {
  if (shared != nullptr) {
    const int64_t total = mine.meta.shape.count();
    PerThread<PairScratch> scratches;
    return shared->gather((total + kBandElements - 1) / kBandElements, [&](int64_t band) {
      PairScratch& scratch = scratches.local();
      scratch.mine.may_map = scratch.golden.may_map = may_map;
      const int64_t first = band * kBandElements;
      return gather_band(mine, golden, plan, scale, first, std::min(kBandElements, total - first), scratch);
    });
  }
  return gather_bands_of_pair<Gathered>(
      mine, golden, may_map, progress, [&](int64_t first, int64_t count, PairScratch& scratch) {
        return gather_band(mine, golden, plan, scale, first, count, scratch);
      });
}

}  // namespace

Result<Gathered> gather_parallel(const Operand& mine, const Operand& golden, const GatherPlan& plan,
                                 PairScratch& small, Progress& progress) {
  const int64_t total = mine.meta.shape.count();
  SharedBands* const all = current_shared_bands();
  const auto once = [&](bool may_map) -> Result<Gathered> {
    if (total <= kBandElements) {
      small.mine.may_map = small.golden.may_map = may_map;
      auto gathered = gather_pair(mine, golden, plan, small);
      progress.done(mine.meta.byte_size() + golden.meta.byte_size());
      return gathered;
    }
    SharedBands* const shared = all != nullptr && all->takes(plan) ? all : nullptr;
    ASSAY_TRY(Gathered gathered, pass(mine, golden, plan, 0, may_map, progress, shared));
    if (const int scale = better_scale(gathered)) {
      ASSAY_TRY(const Gathered scaled,
                pass(mine, golden, {gather::scaled}, scale, may_map, progress, shared));
      gathered.take_sums(scaled);
    }
    small.forget();
    ASSAY_TRY_DO(add_checksums(mine, golden, plan.needs, small, gathered));
    return gathered;
  };
  const int64_t lost_before = lost_pages();
  Result<Gathered> gathered = once(true);
  small.forget();  // a window on a mapping notices a shorter file when it closes
  const bool was_lost = lost_pages() != lost_before;
  if (all == nullptr ? !was_lost : !all->is_any(was_lost)) return gathered;
  // A file shrank while it was mapped: read it again, and let the read say what is missing.
  gathered = once(false);
  small.forget();  // what it keeps of the operands must not outlive them
  return gathered;
}

}  // namespace assay
