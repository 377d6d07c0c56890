#include "assay/metric/pair_gatherer.h"

#include "assay/metric/absolute_sum.h"
#include "assay/metric/pair_buffers.h"
#include "assay/metric/rest.h"
#include "assay/metric/wide_integers.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace assay {
namespace {

// What one step is: of the coarser type, or of one that is coarser still and was asked for.
DType step_type(DType mine, DType golden, const GatherPlan& plan) {
  const DType own = coarser(mine, golden);
  return plan.steps_of && is_real(own) ? coarser(own, *plan.steps_of) : own;
}

}  // namespace

std::shared_ptr<PairBuffers> make_pair_buffers() { return std::make_shared_for_overwrite<PairBuffers>(); }

PairGatherer::PairGatherer(DType mine, DType golden, const GatherPlan& plan, int64_t first, int scale,
                           std::shared_ptr<PairBuffers> buffers)
    : mine_(component(mine)),
      golden_(component(golden)),
      ulp_dtype_(step_type(mine, golden, plan)),
      needs_(plan.needs),
      closeness_(plan.closeness),
      work_(fits_f32(mine_) && fits_f32(golden_)    ? Work::f32
            : need_wide_differences(mine_, golden_) ? Work::integers
                                                    : Work::f64),
      scale_(scale),
      next_(first),
      buffers_(std::move(buffers)) {
  out_.mine_dtype = mine;
  out_.golden_dtype = golden;
  out_.ulp.dtype = ulp_dtype_;
  out_.pair.scale = scale;
  for (const OpenOwnSums open : plan.own_sums) out_.own_sums.push_back({open, open(mine, golden)});
  if (needs_ & gather::quantiles) out_.abs_diff = std::make_unique<LogHistogram>();
  if (needs_ & gather::ulp_quantiles) out_.ulps = std::make_unique<LogHistogram>();
}

void PairGatherer::add(const Block& mine, const Block& golden) {
  ASSAY_CHECK(mine.count * components(mine.dtype) == golden.count * components(golden.dtype));
  const int64_t total = mine.count * components(mine.dtype);
  for (int64_t done = 0; done < total; done += kTile) {
    const int64_t n = std::min(kTile, total - done);
    add_tile(mine.data + done * size_of(mine_), golden.data + done * size_of(golden_), n);
    next_ += n;
  }
}

void PairGatherer::add_tile(const std::byte* mine, const std::byte* golden, int64_t n) {
  out_.pair.count += n;
  if (work_ == Work::f32)
    add_f32(mine, golden, n);
  else
    add_f64(mine, golden, n);
}

void PairGatherer::add_f32(const std::byte* mine, const std::byte* golden, int64_t n) {
  PairBuffers& t = *buffers_;
  const auto as_floats = [n](DType dtype, const std::byte* from, float* buffer) -> const float* {
    if (dtype == DType::f32 && is_aligned(from, alignof(float))) return reinterpret_cast<const float*>(from);
    to_f32(dtype, from, n, buffer);
    return buffer;
  };
  const float* a = as_floats(mine_, mine, t.a);
  const float* b = as_floats(golden_, golden, t.b);
  const float *const all_a = a, *const all_b = b;
  const bool ulp_in_pass = ulp_dtype_ == DType::f32;
  const bool wants_ulp = (needs_ & (gather::ulp | gather::ulp_quantiles)) != 0;
  const bool integers = is_integer(mine_) && is_integer(golden_);
  tile::Wanted wanted;
  wanted.ulp = ulp_in_pass && (needs_ & gather::ulp);
  wanted.means = (needs_ & gather::means) || (wants_ulp && integers);
  wanted.relative = (needs_ & gather::relative) && !golden_has_zero_;
  // Two tiles of the same 16-bit type: extremes, equality and ULPs come from the patterns, 32 at a time.
  const bool by_pattern = (needs_ & gather::ulp) && mine_ == golden_ && mine_ == ulp_dtype_ &&
                          is_sign_magnitude16(mine_) && is_aligned(mine, alignof(uint16_t)) &&
                          is_aligned(golden, alignof(uint16_t));
  wanted.extremes = !by_pattern;
  wanted.step_a = size_of(mine_);
  wanted.step_b = size_of(golden_);
  wanted.ahead_a = mine + n * wanted.step_a;
  wanted.ahead_b = golden + n * wanted.step_b;

  tile::Measured m = tile::measure(a, b, n, wanted);
  bool all_finite = true, ulp_done = false;
  int64_t left = n;
  if (!std::isfinite(m.core.aa) || !std::isfinite(m.core.bb)) {
    all_finite = false;
    left = set_aside_nonfinite(a, b, n, t.clean_a, t.clean_b);
    a = t.clean_a;
    b = t.clean_b;
    wanted.extremes = true;
    m = tile::measure(a, b, n, wanted);
    m.core.equal -= n - left;  // what was set aside was counted apart
    extremes_of_finite(a, b, n, m.core);
    m.relative_done = false;
  } else if (by_pattern) {
    const tile::Patterns16 patterns = tile::patterns16(reinterpret_cast<const uint16_t*>(mine),
                                                       reinterpret_cast<const uint16_t*>(golden), n);
    take_patterns(patterns, m.core);
    add_ulp(patterns.ulp);
    ulp_done = true;
  }
  if (find_worst(a, b, nullptr, n, m.core.max_abs)) keep_near(all_a, all_b, n);
  add_core(m.core, left);
  if (needs_ & gather::close) count_not_close(a, b, nullptr, n);
  if ((needs_ & gather::rest) && scale_ == 0) add_rest(a, b, n, left, m.core, out_.pair);

  if (needs_ & gather::relative) {
    const bool overflows = (m.relative_done && !std::isfinite(m.relative.max)) ||
                           m.core.max_abs > static_cast<double>(std::numeric_limits<float>::max());
    if (!m.relative_done && !overflows) {
      m.relative = tile::relative(a, b, n);
      golden_has_zero_ = true;
    }
    if (overflows || !std::isfinite(m.relative.max)) {  // a difference or a quotient that f32 cannot hold
      std::copy(a, a + n, t.wide_a);
      std::copy(b, b + n, t.wide_b);
      m.relative = tile::relative(t.wide_a, t.wide_b, nullptr, n);
    }
    m.relative.under_1e3 -= n - left;  // a pair that was set aside looks like 0 against 0
    m.relative.under_5e3 -= n - left;
    add_relative(m.relative);
  }
  if (needs_ & gather::absolutes) add_absolutes(a, b, n);
  for (const Gathered::Own& own : out_.own_sums) own.sums->add(a, b, n);
  if (needs_ & gather::softmax) softmax_of_finite(a, b, n, m.core, all_finite);
  if (needs_ & gather::quantiles) {
    for (int64_t i = 0; i < n; ++i) t.sizes[i] = std::abs(a[i] - b[i]);
    count_sizes(*out_.abs_diff, n, all_finite);
  }
  if (!wants_ulp) return;
  if (integers) {
    add_ulp({static_cast<uint64_t>(m.core.max_abs), m.core.abs_diff});
    if (out_.ulps) {
      for (int64_t i = 0; i < n; ++i) t.sizes[i] = std::abs(a[i] - b[i]);
      out_.ulps->add(t.sizes, n);
    }
    return;
  }
  if (wanted.ulp && !(needs_ & gather::ulp_quantiles)) return add_ulp(m.ulp);
  if (ulp_done && !(needs_ & gather::ulp_quantiles)) return;
  if (ulp_done)
    return count_ulps(reinterpret_cast<const uint16_t*>(mine), reinterpret_cast<const uint16_t*>(golden), n);
  ulp_of_reals(all_finite ? mine : nullptr, all_finite ? golden : nullptr, n, a, b);
}

void PairGatherer::add_f64(const std::byte* mine, const std::byte* golden, int64_t n) {
  PairBuffers& t = *buffers_;
  to_f64(mine_, mine, n, t.wide_a);
  to_f64(golden_, golden, n, t.wide_b);
  const double* d = nullptr;
  if (work_ == Work::integers) {
    // f64 cannot hold all 64-bit integers; their difference is taken before they are rounded.
    for (int64_t i = 0; i < n; ++i)
      t.d[i] = static_cast<double>(wide_integer(mine_, mine, t.wide_a, i) -
                                   wide_integer(golden_, golden, t.wide_b, i));
    d = t.d;
  }
  if (scale_ != 0) {  // in two steps: 2^scale itself may be too large for a double
    const double half = std::ldexp(1.0, scale_ / 2), rest = std::ldexp(1.0, scale_ - scale_ / 2);
    for (int64_t i = 0; i < n; ++i) {
      t.wide_a[i] = t.wide_a[i] * half * rest;
      t.wide_b[i] = t.wide_b[i] * half * rest;
    }
  }
  const double* a = t.wide_a;
  const double* b = t.wide_b;
  tile::Core core = tile::measure(a, b, d, n);
  bool all_finite = true;
  int64_t left = n;
  if (!std::isfinite(core.aa) || !std::isfinite(core.bb)) {
    left = set_aside_nonfinite(a, b, n, t.clean_wide_a, t.clean_wide_b);
    all_finite = left == n;  // finite values may have overflowed when squared
    a = t.clean_wide_a;
    b = t.clean_wide_b;
    core = tile::measure(a, b, d, n);
    core.equal -= n - left;
    extremes_of_finite(a, b, n, core);
  }
  if (find_worst(a, b, d, n, core.max_abs)) keep_near<double>(t.wide_a, t.wide_b, n);
  add_core(core, left);
  if (needs_ & gather::close) count_not_close(a, b, d, n);
  if ((needs_ & gather::rest) && scale_ == 0) add_rest(a, b, d, n, left, core, out_.pair);
  if (needs_ & gather::relative) {
    tile::Relative r = tile::relative(a, b, d, n);
    r.under_1e3 -= n - left;
    r.under_5e3 -= n - left;
    add_relative(r);
  }
  if (needs_ & gather::absolutes) add_absolutes(a, b, n);
  for (const Gathered::Own& own : out_.own_sums) own.sums->add(a, b, n);
  if (needs_ & gather::softmax) softmax_of_finite(a, b, n, core, all_finite);
  if (needs_ & gather::quantiles) {
    for (int64_t i = 0; i < n; ++i)
      t.sizes[i] = static_cast<float>(std::abs(d != nullptr ? d[i] : a[i] - b[i]));
    count_sizes(*out_.abs_diff, n, all_finite);
  }
  if (!(needs_ & (gather::ulp | gather::ulp_quantiles))) return;
  if (is_integer(mine_) && is_integer(golden_)) {
    for (int64_t i = 0; i < n; ++i) t.d[i] = std::abs(d != nullptr ? d[i] : a[i] - b[i]);
    return ulp_of_integers(t.d, n);
  }
  ulp_of_doubles(a, b, n);
}

void PairGatherer::take_patterns(const tile::Patterns16& patterns, tile::Core& core) {
  const auto value = [this](uint16_t bits) {
    return static_cast<double>(mine_ == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits));
  };
  core.min_a = value(patterns.min_a);
  core.max_a = value(patterns.max_a);
  core.min_b = value(patterns.min_b);
  core.max_b = value(patterns.max_b);
  core.equal = patterns.equal;
}

// The sizes of this tile, without those of pairs that were set aside.
void PairGatherer::count_sizes(LogHistogram& into, int64_t n, bool all_finite) {
  PairBuffers& t = *buffers_;
  int64_t left = all_finite ? n : 0;
  for (int64_t i = 0; !all_finite && i < n; ++i)
    if (t.finite[i]) t.sizes[left++] = t.sizes[i];
  into.add(t.sizes, left);
}

void PairGatherer::add_core(const tile::Core& core, int64_t finite) {
  PairSums& p = out_.pair;
  p.finite += finite;
  p.equal += core.equal;
  p.dot += core.ab;
  p.diff_squares += core.dd;
  p.diff += core.diff;
  p.abs_diff += core.abs_diff;
  if (finite > 0) p.max_abs = std::max(p.max_abs, core.max_abs);
  p.mine.sum += core.sum_a;
  p.golden.sum += core.sum_b;
  p.mine.sum_squares += core.aa;
  p.golden.sum_squares += core.bb;
  p.mine.min = std::min(p.mine.min, core.min_a);
  p.mine.max = std::max(p.mine.max, core.max_a);
  p.golden.min = std::min(p.golden.min, core.min_b);
  p.golden.max = std::max(p.golden.max, core.max_b);
}

// Call before add_core: compares with the maximum of the tiles before this one.
template <class T>
bool PairGatherer::find_worst(const T* a, const T* b, const double* d, int64_t n, double max_abs) {
  PairSums& p = out_.pair;
  if (p.nonfinite_mismatch > 0 || max_abs == 0 || !(max_abs > p.max_abs)) return false;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::abs(d != nullptr ? d[i] : static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (size != max_abs) continue;
    p.worst = next_ + i;
    p.worst_mine = static_cast<double>(a[i]);
    p.worst_golden = static_cast<double>(b[i]);
    return true;
  }
  return false;
}

// The elements around the worst, which lies in this tile. What lies beyond the tile is not at hand.
template <class T>
void PairGatherer::keep_near(const T* a, const T* b, int64_t n) {
  const int64_t at = out_.pair.worst - next_;
  const int64_t first = std::max<int64_t>(at - Neighbours::kEachSide, 0);
  const int64_t last = std::min(at + Neighbours::kEachSide + 1, n);
  Neighbours& near = out_.pair.near;
  near.first = next_ + first;
  near.count = static_cast<int32_t>(last - first);
  for (int64_t i = first; i < last; ++i) {
    near.mine[static_cast<size_t>(i - first)] = static_cast<double>(a[i]);
    near.golden[static_cast<size_t>(i - first)] = static_cast<double>(b[i]);
  }
}

// A complex element is as far off as its two components together.
template <class T>
void PairGatherer::count_not_close(const T* a, const T* b, const double* d, int64_t n) {
  const int64_t step = components(out_.mine_dtype);
  const auto difference = [&](int64_t i) {
    return d != nullptr ? d[i] : static_cast<double>(a[i]) - static_cast<double>(b[i]);
  };
  for (int64_t i = 0; i + step <= n; i += step) {
    double apart = std::abs(difference(i)), size = std::abs(static_cast<double>(b[i]));
    if (step == 2) {
      apart = std::hypot(apart, difference(i + 1));
      size = std::hypot(size, static_cast<double>(b[i + 1]));
    }
    out_.pair.not_close += !(apart <= closeness_.atol + closeness_.rtol * size);
  }
}

// Copies the tile with both elements zero wherever either is not finite, and counts those places. Answers how
// many are left.
template <class T>
int64_t PairGatherer::set_aside_nonfinite(const T* a, const T* b, int64_t n, T* clean_a, T* clean_b) {
  PairSums& p = out_.pair;
  int64_t left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i], y = b[i];
    const bool finite = std::isfinite(x) && std::isfinite(y);
    buffers_->finite[i] = finite;
    clean_a[i] = finite ? x : T{0};
    clean_b[i] = finite ? y : T{0};
    left += finite;
    if (finite) continue;
    p.mine.nans += std::isnan(x);
    p.mine.infs += std::isinf(x);
    p.golden.nans += std::isnan(y);
    p.golden.infs += std::isinf(y);
    p.kind_mismatch += std::isnan(x) != std::isnan(y) || std::isinf(x) != std::isinf(y);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      ++p.equal;
      continue;
    }
    if (p.nonfinite_mismatch++ > 0) continue;
    p.worst = next_ + i;
    p.worst_mine = static_cast<double>(x);
    p.worst_golden = static_cast<double>(y);
    keep_near(a, b, n);
  }
  return left;
}

template <class T>
void PairGatherer::extremes_of_finite(const T* a, const T* b, int64_t n, tile::Core& core) {
  core.min_a = core.min_b = std::numeric_limits<double>::infinity();
  core.max_a = core.max_b = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    if (!buffers_->finite[i]) continue;
    core.min_a = std::min(core.min_a, static_cast<double>(a[i]));
    core.max_a = std::max(core.max_a, static_cast<double>(a[i]));
    core.min_b = std::min(core.min_b, static_cast<double>(b[i]));
    core.max_b = std::max(core.max_b, static_cast<double>(b[i]));
  }
}

template <class T>
void PairGatherer::softmax_of_finite(const T* a, const T* b, int64_t n, const tile::Core& core,
                                     bool all_finite) {
  if (all_finite && core.equal == n) {  // both sums are the same then, and nothing is apart
    const double z = tile::exponentials(b, n, core.max_b);
    return add_softmax({z, z, 0}, core.max_b, core.max_b);
  }
  if (all_finite)
    return add_softmax(tile::softmax(a, b, n, {core.min_a, core.max_a}, {core.min_b, core.max_b}), core.max_a,
                       core.max_b);
  if (std::isinf(core.max_a)) return;  // nothing finite here
  tile::Softmax sums;
  for (int64_t i = 0; i < n; ++i) {
    if (!buffers_->finite[i]) continue;
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double weight = tile::exp_nonpositive(y - core.max_b);
    sums.za += tile::exp_nonpositive(x - core.max_a);
    sums.zb += weight;
    sums.cross += weight * (y - x);
  }
  add_softmax(sums, core.max_a, core.max_b);
}

void PairGatherer::add_softmax(const tile::Softmax& sums, double mine_peak, double golden_peak) {
  out_.softmax.merge({mine_peak, sums.za, golden_peak, sums.zb, sums.cross});
}

void PairGatherer::add_relative(const tile::Relative& r) {
  RelativeSums& s = out_.relative;
  s.max = std::max(s.max, r.max);
  s.sum += r.sum;
  s.max_over_zero = std::max(s.max_over_zero, r.max_over_zero);
  s.under_1e3 += r.under_1e3;
  s.under_5e3 += r.under_5e3;
  s.counted += r.counted;
  s.zero_golden += r.zero_golden;
}

template <class T>
void PairGatherer::add_absolutes(const T* a, const T* b, int64_t n) {
  out_.pair.mine.sum_absolute += absolute_sum(a, n);
  out_.pair.golden.sum_absolute += absolute_sum(b, n);
}

}  // namespace assay
