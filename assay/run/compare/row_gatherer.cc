#include "assay/run/compare/row_gatherer.h"

#include "assay/judge/rule_context.h"
#include "assay/metric/arg_max.h"
#include "assay/model/logits.h"
#include "assay/run/algorithms.h"
#include "assay/run/compare/detail.h"
#include "assay/run/compare/dump_claims.h"
#include "assay/run/compare/gather_bounded.h"
#include "assay/run/compare/gather_parallel.h"
#include "assay/run/compare/row_facts.h"
#include "assay/tensor/rounded_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

bool is_of_logits(const Comparison& row) {
  return row.pair.why == Why::last_output || (are_logits(*row.mine.item) && are_logits(*row.golden.item));
}

}  // namespace

double RowGatherer::gather(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
                           Comparison& row, std::optional<DType> rounded_to, const Expected* expected,
                           std::shared_ptr<const PairSums>* kept) {
  if (is_complex(mine.meta.dtype) != is_complex(golden.meta.dtype)) {
    row.status = Status::unreadable;
    row.note = fmt::format("complex against real: {} and {}; convert one of them first",
                           name(mine.meta.dtype), name(golden.meta.dtype));
    return 0;
  }
  scratch.forget();
  const bool is_logits = is_of_logits(row);
  const GatherMask needs = is_logits ? metrics_.needs : metrics_.needs & ~metrics_.only_of_logits;
  auto gathered = gather_parallel(
      mine, golden,
      {needs, metrics_.own_sums, rounded_to ? rounded_to : metrics_.steps_of, metrics_.closeness}, scratch,
      progress_);
  if (!gathered) {
    row.status = Status::unreadable;
    row.note = gathered.error().message;
    return 0;
  }
  if ((metrics_.needs & gather::arg_max) != 0 && is_logits) {
    auto chosen = compare_arg_max(mine, golden);
    if (chosen) gathered->arg_max = row.arg_max = std::make_shared<const ArgMax>(*chosen);
    if (chosen && chosen->mine != chosen->golden)
      row.add_note(fmt::format("mine chooses token {}, golden {}", chosen->mine, chosen->golden));
  }
  if (expected != nullptr) {
    auto bounded = gather_bounded(mine, *expected);
    if (!bounded) {
      row.status = Status::unreadable;
      row.note = bounded.error().message;
      return 0;
    }
    gathered->bounded = row.bounded = std::make_shared<const Bounded>(*bounded);
    if (!expected->note.empty()) row.add_note(expected->note);
    row.not_dumped = expected->not_dumped;
    if (bounded->beyond > 0) row.add_note(fmt::format("expected of {}", expected->computed));
  }
  for (const Metric* const metric : metrics_.metrics) {
    if (metric->own_pass == nullptr) continue;
    auto own = metric->own_pass(mine, golden);
    if (!own) {
      row.status = Status::unreadable;
      row.note = own.error().message;
      return 0;
    }
    gathered->own_passes.emplace_back(metric->own_pass, std::move(*own));
  }
  if (side_statistics_ == SideStatistics::as_f32 && is_whole && !is_complex(mine.meta.dtype))
    take_statistics_as_f32(gathered->pair, row);
  const PairSums& pair = gathered->pair;
  if (checks_claims_ && is_whole && expected == nullptr)
    if (std::string why = contradiction_of_elements(row, pair); !why.empty()) {
      row.status = Status::unreadable;
      row.note = std::move(why);
      return 0;
    }
  if (kept != nullptr && (needs & kSumsOfDetail) == kSumsOfDetail && pair.max_abs != 0)
    *kept = std::make_shared<const PairSums>(pair);
  const bool are_finite = pair.mine.nans + pair.mine.infs + pair.golden.nans + pair.golden.infs == 0;
  if (algorithms_ != nullptr && (are_finite || algorithms_->given() == Algorithms::Given::as_dumped))
    row.answers = std::make_shared<const std::vector<AlgorithmAnswer>>(algorithms_->ask(mine, golden));
  const double error = fill(*gathered, rounded_to, row);
  const bool knows_some = row.bounded != nullptr && (row.bounded->unknown > 0 || expected->is_partial);
  if (knows_some && row.evidence != Evidence::nothing)
    row.evidence = row.bounded->unknown == row.bounded->count ? Evidence::nothing : Evidence::some_elements;
  return error;
}

bool RowGatherer::can_put_together(const Comparison& row) const {
  const bool asks_for_all =
      (metrics_.needs & (gather::crc32 | gather::md5)) != 0 || !metrics_.own_sums.empty() ||
      std::ranges::any_of(metrics_.metrics, [](const Metric* each) { return each->own_pass != nullptr; });
  return !asks_for_all && algorithms_ == nullptr && side_statistics_ == SideStatistics::none &&
         !is_of_logits(row);
}

Result<Gathered> RowGatherer::sums(const Operand& mine, const Operand& golden,
                                   std::optional<DType> rounded_to, PairScratch& scratch) {
  scratch.forget();
  return gather_parallel(mine, golden,
                         {metrics_.needs & ~metrics_.only_of_logits, metrics_.own_sums,
                          rounded_to ? rounded_to : metrics_.steps_of, metrics_.closeness},
                         scratch, progress_);
}

double RowGatherer::fill(const Gathered& gathered, std::optional<DType> rounded_to, Comparison& row) const {
  const PairSums& pair = gathered.pair;
  row.basis = Basis::data;
  row.metrics = metrics_.finish(gathered);
  row.nothing_finite = pair.finite == 0;
  row.is_nonfinite_apart = pair.nonfinite_mismatch > 0;
  row.near = pair.worst >= 0 ? std::make_shared<const Neighbours>(pair.near) : nullptr;
  row.judged_as = rounded_to;
  if (is_range(row) && pair.finite == pair.count) row.statistics = kBothExtremes;
  if (pair.count == 0)
    row.evidence = Evidence::empty;
  else if (pair.finite > 0 || pair.nonfinite_mismatch > 0)
    row.evidence = is_range(row)                                        ? Evidence::extremes
                   : pair.finite + pair.nonfinite_mismatch < pair.count ? Evidence::finite_elements
                                                                        : Evidence::elements;
  if (pair.nonfinite_mismatch > 0) return std::numeric_limits<double>::infinity();
  return pair.diff_squares > 0 ? pair.diff_squares / pair.golden.sum_squares : 0;
}

std::optional<double> RowGatherer::error_in(const Comparison& row) const {
  for (const std::string_view wanted : {"rel_l2", "max_abs"}) {
    const auto column = std::ranges::find(metrics_.columns, wanted);
    const auto at = static_cast<size_t>(column - metrics_.columns.begin());
    if (at >= row.metrics.size()) continue;
    if (const auto error = number_in(row.metrics[at]); error && !std::isnan(*error)) return error;
  }
  return std::nullopt;
}

void RowGatherer::gather_rounded(const Operand& mine, const Operand& golden, bool is_whole,
                                 PairScratch& scratch, Comparison& row) {
  const DType own = coarser(mine.meta.dtype, golden.meta.dtype);
  std::optional<DType> found;
  std::string note;
  for (const Side side : {Side::mine, Side::golden}) {
    const auto rounded = find_rounded_type(side == Side::mine ? mine : golden,
                                           side == Side::mine ? scratch.mine : scratch.golden);
    if (!rounded || !*rounded || coarser(own, **rounded) == own) continue;
    if (!found || coarser(*found, **rounded) != *found) {
      found = **rounded;
      note = fmt::format("all values of {} are exact in {}: judged as such", name_of(side), name(**rounded));
    }
  }
  if (!found) return;
  gather(mine, golden, is_whole, scratch, row, found);
  row.add_note(note);
}

}  // namespace assay
