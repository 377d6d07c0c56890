#include "assay/metric/gathered.h"

#include "assay/metric/tile_kernels.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

void merge_side(SideSums& into, const SideSums& later) {
  into.sum += later.sum;
  into.sum_squares += later.sum_squares;
  into.sum_absolute += later.sum_absolute;
  into.min = std::min(into.min, later.min);
  into.max = std::max(into.max, later.max);
  into.nans += later.nans;
  into.infs += later.infs;
}

void merge_pair(PairSums& into, const PairSums& later) {
  const bool into_mismatch = into.nonfinite_mismatch > 0, later_mismatch = later.nonfinite_mismatch > 0;
  if (later.worst >= 0 && !into_mismatch &&
      (later_mismatch || into.worst < 0 || later.max_abs > into.max_abs)) {
    into.worst = later.worst;
    into.worst_mine = later.worst_mine;
    into.worst_golden = later.worst_golden;
    into.near = later.near;
  }
  merge_side(into.mine, later.mine);
  merge_side(into.golden, later.golden);
  into.count += later.count;
  into.finite += later.finite;
  into.equal += later.equal;
  into.not_close += later.not_close;
  into.nonfinite_mismatch += later.nonfinite_mismatch;
  into.kind_mismatch += later.kind_mismatch;
  into.dot += later.dot;
  into.diff_squares += later.diff_squares;
  for (size_t i = 0; i < into.rest.size(); ++i) {
    into.rest[i].diff_squares += later.rest[i].diff_squares;
    into.rest[i].golden_squares += later.rest[i].golden_squares;
    into.rest[i].count += later.rest[i].count;
  }
  into.diff += later.diff;
  into.abs_diff += later.abs_diff;
  into.max_abs = std::max(into.max_abs, later.max_abs);
}

void merge_relative(RelativeSums& into, const RelativeSums& later) {
  into.max_over_zero = std::max(into.max_over_zero, later.max_over_zero);
  into.max = std::max(into.max, later.max);
  into.sum += later.sum;
  into.counted += later.counted;
  into.zero_golden += later.zero_golden;
  into.under_1e3 += later.under_1e3;
  into.under_5e3 += later.under_5e3;
}

// exp(from - to) where to >= from; 0 for a side that has seen nothing yet.
double rescale(double from, double to) { return std::isinf(from) ? 0.0 : tile::exp_nonpositive(from - to); }

void merge_histogram(std::unique_ptr<LogHistogram>& into, const std::unique_ptr<LogHistogram>& later) {
  if (into && later) into->merge(*later);
}

}  // namespace

void LogHistogram::add(const float* values, int64_t n) {
  if (pending_total_ + n > kMostPending) settle();
  uint32_t* const tables = pending_.data();
  const auto bin = [values](int64_t i) { return std::bit_cast<uint32_t>(values[i]) >> kShift; };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    ++tables[bin(i)];
    ++tables[kBins + bin(i + 1)];
    ++tables[2 * kBins + bin(i + 2)];
    ++tables[3 * kBins + bin(i + 3)];
  }
  for (; i < n; ++i) ++tables[bin(i)];
  pending_total_ += n;
  total_ += n;
}

void LogHistogram::settle() {
  for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] = count(bin);
  std::fill(pending_.begin(), pending_.end(), 0);
  pending_total_ = 0;
}

uint64_t LogHistogram::count(size_t bin) const {
  uint64_t sum = counts_[bin];
  for (size_t table = 0; table < kTables; ++table) sum += pending_[table * kBins + bin];
  return sum;
}

void LogHistogram::merge(const LogHistogram& other) {
  for (size_t bin = 0; bin < kBins; ++bin) counts_[bin] += other.count(bin);
  total_ += other.total_;
}

double LogHistogram::quantile(double q) const {
  if (total_ == 0) return std::nan("");
  const auto wanted = static_cast<uint64_t>(std::ceil(q * static_cast<double>(total_)));
  uint64_t below = 0;
  size_t bin = 0;
  while (bin + 1 < kBins && below + count(bin) < std::max<uint64_t>(wanted, 1)) below += count(bin++);
  const auto edge = [](size_t i) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(i) << kShift));
  };
  if (bin == 0 || bin + 1 == kBins) return edge(bin);
  const double low = edge(bin), high = edge(bin + 1);
  if (low == std::floor(low) && high - low <= 1) return low;  // counts and ULPs: the only integer in the bin
  return (low + high) / 2;
}

void SoftmaxSums::merge(const SoftmaxSums& later) {
  const double mine_top = std::max(mine_peak, later.mine_peak);
  const double golden_top = std::max(golden_peak, later.golden_peak);
  mine_z = mine_z * rescale(mine_peak, mine_top) + later.mine_z * rescale(later.mine_peak, mine_top);
  const double old_weight = rescale(golden_peak, golden_top),
               new_weight = rescale(later.golden_peak, golden_top);
  golden_z = golden_z * old_weight + later.golden_z * new_weight;
  cross = cross * old_weight + later.cross * new_weight;
  mine_peak = mine_top;
  golden_peak = golden_top;
}

void Gathered::take_sums(const Gathered& scaled) {
  const PairSums& from = scaled.pair;
  pair.scale = from.scale;
  pair.dot = from.dot;
  pair.diff_squares = from.diff_squares;
  pair.diff = from.diff;
  pair.abs_diff = from.abs_diff;
  pair.mine.sum = from.mine.sum;
  pair.mine.sum_squares = from.mine.sum_squares;
  pair.mine.sum_absolute = from.mine.sum_absolute;
  pair.golden.sum = from.golden.sum;
  pair.golden.sum_squares = from.golden.sum_squares;
  pair.golden.sum_absolute = from.golden.sum_absolute;
}

void Gathered::merge(const Gathered& later) {
  merge_pair(pair, later.pair);
  merge_relative(relative, later.relative);
  ulp.max = std::max(ulp.max, later.ulp.max);
  ulp.sum += later.ulp.sum;
  merge_histogram(abs_diff, later.abs_diff);
  merge_histogram(ulps, later.ulps);
  softmax.merge(later.softmax);
  for (size_t i = 0; i < own_sums.size(); ++i) own_sums[i].sums->merge(*later.own_sums[i].sums);
}

const OwnSums& Gathered::own_sums_by(OpenOwnSums opened_by) const {
  const auto found = std::ranges::find(own_sums, opened_by, &Own::opened_by);
  ASSAY_CHECK(found != own_sums.end());
  return *found->sums;
}

const OwnPass* Gathered::own_pass_by(RunOwnPass run) const {
  for (const auto& [by, pass] : own_passes)
    if (by == run) return pass.get();
  return nullptr;
}

}  // namespace assay
