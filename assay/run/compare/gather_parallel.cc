#include "assay/run/compare/gather_parallel.h"

#include "assay/base/mapping.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

namespace assay {
namespace {

using Band = std::shared_ptr<Result<Gathered>>;

// Bands go out in rising order and are merged in rising order, so every thread reads its operands forwards.
Result<Gathered> pass(const Operand& mine, const Operand& golden, const GatherPlan& plan, int scale,
                      bool may_map, Progress& progress) {
  const int64_t total = mine.meta.shape.count();
  const int64_t bytes_per_element = size_of(mine.meta.dtype) + size_of(golden.meta.dtype);
  tbb::enumerable_thread_specific<PairScratch> scratches([may_map] {
    PairScratch scratch;
    scratch.mine.may_map = scratch.golden.may_map = may_map;
    return scratch;
  });
  int64_t next = 0;
  std::unique_ptr<Gathered> all;
  std::optional<Error> error;
  const auto next_band = [&](tbb::flow_control& control) -> int64_t {
    if (next >= total || error) {
      control.stop();
      return 0;
    }
    const int64_t first = next;
    next += kBandElements;
    mine.will_need(first, std::min(2 * kBandElements, total - first));
    golden.will_need(first, std::min(2 * kBandElements, total - first));
    return first;
  };
  const auto gather = [&](int64_t first) -> Band {
    const int64_t count = std::min(kBandElements, total - first);
    auto band = std::make_shared<Result<Gathered>>(
        gather_band(mine, golden, plan, scale, first, count, scratches.local()));
    progress.done(count * bytes_per_element);
    return band;
  };
  const auto merge = [&](const Band& band) {
    if (error) return;
    if (!*band)
      error = band->error();
    else if (!all)
      all = std::make_unique<Gathered>(std::move(**band));
    else
      all->merge(**band);
  };
  // Isolated: a thread that waits here must not start another pair and hold the buffers of both.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_pipeline(static_cast<size_t>(tbb::this_task_arena::max_concurrency()) * 2,
                           tbb::make_filter<void, int64_t>(tbb::filter_mode::serial_in_order, next_band) &
                               tbb::make_filter<int64_t, Band>(tbb::filter_mode::parallel, gather) &
                               tbb::make_filter<Band, void>(tbb::filter_mode::serial_in_order, merge));
  });
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
