#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_measure.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
constexpr double kForZero = 0x1p-52;  // what Relative::max_over_zero divides by where golden is zero

// One element, in the arithmetic of T. size = |a-b|, base = |b|.
template <class T>
HWY_INLINE void RelativeOne(int64_t i, T size, T base, Relative& out, double* sums) {
  if (base == 0) {
    if (size == 0) {
      ++out.under_1e3;
      ++out.under_5e3;
    } else {
      ++out.zero_golden;
      out.max_over_zero = std::max(out.max_over_zero, static_cast<double>(size) / kForZero);
    }
    return;
  }
  ++out.counted;
  const double r = static_cast<double>(size / base);
  sums[i % kLanes] += r;
  out.max = std::max(out.max, r);
  out.max_over_zero = std::max(out.max_over_zero, r);
  out.under_1e3 += r < 0.001;
  out.under_5e3 += r < 0.005;
}

void RelativeF64(const double* a, const double* b, const double* d, int64_t n, Relative& out) {
  double sums[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double size = d != nullptr ? std::abs(d[i]) : std::abs(a[i] - b[i]);
    RelativeOne(i, size, std::abs(b[i]), out, sums);
  }
  out.sum = Total(Lanes(0), sums);
}

// With zeros among golden: masks instead of branches.
void RelativeF32(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n, Relative& out) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  const VF zero = hn::Zero(df), one = hn::Set(df, 1.0f);
  Lanes sum(0);
  VF largest = zero, largest_at_zero = zero;
  auto under_1e3 = hn::Zero(di), under_5e3 = hn::Zero(di), zero_golden = hn::Zero(di);
  size_t zeros = 0;
  const auto count = [&](auto mask) HWY_ATTR { return hn::BitCast(di, hn::VecFromMask(df, mask)); };
  int64_t i = 0;
  HWY_ALIGN float quotients[kGroup];
  for (; i + kGroup <= n; i += kGroup) {
    for (int v = 0; v < kTurnsF; ++v) {
      const VF y = hn::LoadU(df, b + i + v * kNF);
      const VF size = hn::Abs(hn::Sub(hn::LoadU(df, a + i + v * kNF), y));
      const VF base = hn::Abs(y);
      const auto at_zero = hn::Eq(base, zero);
      zeros += hn::CountTrue(df, at_zero);
      const auto differs = hn::Gt(size, zero);
      const VF r = hn::IfThenZeroElse(at_zero, hn::Div(size, hn::IfThenElse(at_zero, one, base)));
      largest = hn::Max(largest, r);
      const auto lost = hn::And(at_zero, differs);
      largest_at_zero = hn::Max(largest_at_zero, hn::IfThenElseZero(lost, size));
      zero_golden = hn::Sub(zero_golden, count(lost));
      under_1e3 = hn::Sub(under_1e3, hn::AndNot(count(lost), count(hn::Lt(r, hn::Set(df, 0.001f)))));
      under_5e3 = hn::Sub(under_5e3, hn::AndNot(count(lost), count(hn::Lt(r, hn::Set(df, 0.005f)))));
      hn::Store(r, df, quotients + v * kNF);
    }
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      sum.v[v] = hn::Add(sum.v[v], Widen(quotients + t * kN));
    }
  }
  int32_t counts_1e3[kNF], counts_5e3[kNF], counts_zero[kNF];
  hn::StoreU(under_1e3, di, counts_1e3);
  hn::StoreU(under_5e3, di, counts_5e3);
  hn::StoreU(zero_golden, di, counts_zero);
  for (int64_t k = 0; k < kNF; ++k) {
    out.under_1e3 += counts_1e3[k];
    out.under_5e3 += counts_5e3[k];
    out.zero_golden += counts_zero[k];
  }
  out.max = LargestOf(df, largest, 0);
  out.max_over_zero = std::max(out.max, LargestOf(df, largest_at_zero, 0) / kForZero);
  out.counted = i - static_cast<int64_t>(zeros);
  double tail[kLanes] = {};
  for (; i < n; ++i) RelativeOne(i, std::abs(a[i] - b[i]), std::abs(b[i]), out, tail);
  out.sum = Total(sum, tail);
}

// What the elements behind the last full group of a tile add: the same operations one by one.
struct Tail {
  double aa[kLanes] = {}, bb[kLanes] = {}, ab[kLanes] = {}, dd[kLanes] = {}, sum_a[kLanes] = {},
         sum_b[kLanes] = {};
  double diff[kLanes] = {}, abs_diff[kLanes] = {};
  double relative[kLanes] = {};
  double min_a = std::numeric_limits<double>::infinity(), max_a = -min_a, min_b = min_a, max_b = -min_a,
         max_abs = 0;
  int64_t equal = 0;

  HWY_INLINE void Add(int64_t i, double x, double y, double d) {
    const int64_t lane = i % kLanes;
    aa[lane] = std::fma(x, x, aa[lane]);
    bb[lane] = std::fma(y, y, bb[lane]);
    ab[lane] = std::fma(x, y, ab[lane]);
    dd[lane] = std::fma(d, d, dd[lane]);
    sum_a[lane] += x;
    sum_b[lane] += y;
    diff[lane] += d;
    abs_diff[lane] += std::abs(d);
    max_abs = std::max(max_abs, std::abs(d));
    min_a = std::min(min_a, x);
    max_a = std::max(max_a, x);
    min_b = std::min(min_b, y);
    max_b = std::max(max_b, y);
    equal += d == 0;
  }
};

// One loop for all that is wanted: the divisions of `relative` then run beside the additions of the rest.
template <bool kMeans, bool kUlp, bool kRelative, bool kExtremes>
HWY_INLINE void MeasurePass(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n,
                            const Wanted& wanted, Measured& out) {
  const DF df;
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Lanes aa(0), bb(0), ab(0), dd(0), sum_a(0), sum_b(0), abs_diff(0), max_abs(0), r_sum(0);
  VF min_a = hn::Set(df, kInf), max_a = hn::Set(df, -kInf), min_b = min_a, max_b = max_a;
  VF r_max = hn::Zero(df), min_base = hn::Set(df, kInf);
  auto ulp_max = hn::Zero(du), ulp_sum = hn::Zero(du);
  size_t equal = 0, under_1e3 = 0, under_5e3 = 0;
  HWY_ALIGN float quotients[kGroup];
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    hwy::Prefetch(wanted.ahead_a + i * wanted.step_a);
    hwy::Prefetch(wanted.ahead_b + i * wanted.step_b);
    for (int t = 0; t < kTurnsF; ++t) {
      const VF x = hn::LoadU(df, a + i + t * kNF), y = hn::LoadU(df, b + i + t * kNF);
      if constexpr (kExtremes) {
        min_a = hn::Min(min_a, x);
        max_a = hn::Max(max_a, x);
        min_b = hn::Min(min_b, y);
        max_b = hn::Max(max_b, y);
        equal += hn::CountTrue(df, hn::Eq(x, y));
      }
      if constexpr (kUlp) {
        const auto p = Places(di, hn::BitCast(di, x)), q = Places(di, hn::BitCast(di, y));
        const auto distance = hn::BitCast(du, hn::Sub(hn::Max(p, q), hn::Min(p, q)));
        ulp_max = hn::Max(ulp_max, distance);
        ulp_sum = hn::Add(ulp_sum, distance);
      }
      if constexpr (kRelative) {
        const VF base = hn::Abs(y);
        const VF r = hn::Div(hn::Abs(hn::Sub(x, y)), base);
        min_base = hn::Min(min_base, base);
        r_max = hn::Max(r_max, r);
        under_1e3 += hn::CountTrue(df, hn::Lt(r, hn::Set(df, 0.001f)));
        under_5e3 += hn::CountTrue(df, hn::Lt(r, hn::Set(df, 0.005f)));
        hn::Store(r, df, quotients + t * kNF);
      }
    }
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      const V64 x = Widen(a + i + t * kN), y = Widen(b + i + t * kN);
      aa.v[v] = Fused(x, x, aa.v[v]);
      bb.v[v] = Fused(y, y, bb.v[v]);
      ab.v[v] = Fused(x, y, ab.v[v]);
      sum_a.v[v] = hn::Add(sum_a.v[v], x);
      sum_b.v[v] = hn::Add(sum_b.v[v], y);
      const V64 d = hn::Sub(x, y);
      const V64 size = hn::Abs(d);
      dd.v[v] = Fused(d, d, dd.v[v]);
      max_abs.v[v] = hn::Max(max_abs.v[v], size);
      if constexpr (kMeans) abs_diff.v[v] = hn::Add(abs_diff.v[v], size);
      if constexpr (kRelative) r_sum.v[v] = hn::Add(r_sum.v[v], Widen(quotients + t * kN));
    }
  }
  Tail tail;
  Relative& r = out.relative;
  bool zero_base = false;
  for (int64_t k = i; k < n; ++k) {
    tail.Add(k, static_cast<double>(a[k]), static_cast<double>(b[k]),
             static_cast<double>(a[k]) - static_cast<double>(b[k]));
    if constexpr (kRelative) {
      RelativeOne(k, std::abs(a[k] - b[k]), std::abs(b[k]), r, tail.relative);
      zero_base |= b[k] == 0;
    }
  }
  Core& core = out.core;
  core.aa = Total(aa, tail.aa);
  core.bb = Total(bb, tail.bb);
  core.ab = Total(ab, tail.ab);
  core.dd = Total(dd, tail.dd);
  core.sum_a = Total(sum_a, tail.sum_a);
  core.sum_b = Total(sum_b, tail.sum_b);
  if constexpr (kMeans) {
    core.diff = core.sum_a - core.sum_b;  // exact enough: the sums carry 29 bits more than a float has
    core.abs_diff = Total(abs_diff, tail.abs_diff);
  }
  core.max_abs = Largest(max_abs, tail.max_abs);
  core.min_a = SmallestOf(df, min_a, tail.min_a);
  core.max_a = LargestOf(df, max_a, tail.max_a);
  core.min_b = SmallestOf(df, min_b, tail.min_b);
  core.max_b = LargestOf(df, max_b, tail.max_b);
  core.equal = static_cast<int64_t>(equal) + tail.equal;
  if constexpr (kUlp) {
    uint32_t maxima[kNF], sums[kNF];
    hn::StoreU(ulp_max, du, maxima);
    hn::StoreU(ulp_sum, du, sums);
    uint64_t sum = 0;
    for (int64_t k = 0; k < kNF; ++k) {
      out.ulp.max = std::max<uint64_t>(out.ulp.max, maxima[k]);
      sum += sums[k];
    }
    for (int64_t k = i; k < n; ++k) {
      const uint32_t distance = DistanceOne(std::bit_cast<uint32_t>(a[k]), std::bit_cast<uint32_t>(b[k]));
      out.ulp.max = std::max<uint64_t>(out.ulp.max, distance);
      sum += distance;
    }
    out.ulp.sum = static_cast<double>(sum);
    // The lanes above hold 32 bits; with distances this large they may have run over.
    constexpr uint64_t kSafe = std::numeric_limits<uint32_t>::max() / (kTile / kNF);
    if (out.ulp.max > kSafe)
      out.ulp = ulp_distance(reinterpret_cast<const uint32_t*>(a), reinterpret_cast<const uint32_t*>(b), n);
  }
  if constexpr (kRelative) {
    r.max = LargestOf(df, r_max, r.max);
    r.max_over_zero = r.max;
    r.sum = Total(r_sum, tail.relative);
    r.counted = n;
    r.under_1e3 += static_cast<int64_t>(under_1e3);
    r.under_5e3 += static_cast<int64_t>(under_5e3);
    out.relative_done = !zero_base && SmallestOf(df, min_base, static_cast<double>(kInf)) > 0 &&
                        core.max_abs <= static_cast<double>(std::numeric_limits<float>::max());
  }
}

void MeasureF32(const float* a, const float* b, int64_t n, Wanted wanted, Measured& out) {
  if (!wanted.extremes) {
    if (wanted.relative) return MeasurePass<true, false, true, false>(a, b, n, wanted, out);
    if (wanted.means) return MeasurePass<true, false, false, false>(a, b, n, wanted, out);
    return MeasurePass<false, false, false, false>(a, b, n, wanted, out);
  }
  if (wanted.relative) {
    if (wanted.ulp) return MeasurePass<true, true, true, true>(a, b, n, wanted, out);
    return MeasurePass<true, false, true, true>(a, b, n, wanted, out);
  }
  if (wanted.means) {
    if (wanted.ulp) return MeasurePass<true, true, false, true>(a, b, n, wanted, out);
    return MeasurePass<true, false, false, true>(a, b, n, wanted, out);
  }
  if (wanted.ulp) return MeasurePass<false, true, false, true>(a, b, n, wanted, out);
  MeasurePass<false, false, false, true>(a, b, n, wanted, out);
}

void MeasureF64(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, const double* d_given, int64_t n,
                Core& out) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const D64 d64;
  Lanes aa(0), bb(0), ab(0), dd(0), sum_a(0), sum_b(0), diff(0), abs_diff(0), max_abs(0);
  Lanes min_a(kInf), max_a(-kInf), min_b(kInf), max_b(-kInf);
  size_t equal = 0;
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup)
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      const V64 x = Widen(a + i + t * kN), y = Widen(b + i + t * kN);
      const V64 d = d_given != nullptr ? hn::LoadU(d64, d_given + i + t * kN) : hn::Sub(x, y);
      aa.v[v] = Fused(x, x, aa.v[v]);
      bb.v[v] = Fused(y, y, bb.v[v]);
      ab.v[v] = Fused(x, y, ab.v[v]);
      dd.v[v] = Fused(d, d, dd.v[v]);
      sum_a.v[v] = hn::Add(sum_a.v[v], x);
      sum_b.v[v] = hn::Add(sum_b.v[v], y);
      diff.v[v] = hn::Add(diff.v[v], d);
      abs_diff.v[v] = hn::Add(abs_diff.v[v], hn::Abs(d));
      max_abs.v[v] = hn::Max(max_abs.v[v], hn::Abs(d));
      min_a.v[v] = hn::Min(min_a.v[v], x);
      max_a.v[v] = hn::Max(max_a.v[v], x);
      min_b.v[v] = hn::Min(min_b.v[v], y);
      max_b.v[v] = hn::Max(max_b.v[v], y);
      equal += hn::CountTrue(d64, hn::Eq(d, hn::Zero(d64)));
    }
  Tail tail;
  for (int64_t k = i; k < n; ++k) tail.Add(k, a[k], b[k], d_given != nullptr ? d_given[k] : a[k] - b[k]);
  out.aa = Total(aa, tail.aa);
  out.bb = Total(bb, tail.bb);
  out.ab = Total(ab, tail.ab);
  out.dd = Total(dd, tail.dd);
  out.sum_a = Total(sum_a, tail.sum_a);
  out.sum_b = Total(sum_b, tail.sum_b);
  out.diff = Total(diff, tail.diff);
  out.abs_diff = Total(abs_diff, tail.abs_diff);
  out.max_abs = Largest(max_abs, tail.max_abs);
  out.min_a = Smallest(min_a, tail.min_a);
  out.max_a = Largest(max_a, tail.max_a);
  out.min_b = Smallest(min_b, tail.min_b);
  out.max_b = Largest(max_b, tail.max_b);
  out.equal = static_cast<int64_t>(equal) + tail.equal;
}

const char* Name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(MeasureF32);
HWY_EXPORT(MeasureF64);
HWY_EXPORT(RelativeF32);
HWY_EXPORT(RelativeF64);
HWY_EXPORT(Name);

Measured measure(const float* a, const float* b, int64_t n, Wanted wanted) {
  Measured out;
  HWY_DYNAMIC_DISPATCH(MeasureF32)(a, b, n, wanted, out);
  return out;
}
Core measure(const double* a, const double* b, const double* d, int64_t n) {
  Core out;
  HWY_DYNAMIC_DISPATCH(MeasureF64)(a, b, d, n, out);
  return out;
}
Relative relative(const float* a, const float* b, int64_t n) {
  Relative out;
  HWY_DYNAMIC_DISPATCH(RelativeF32)(a, b, n, out);
  return out;
}
Relative relative(const double* a, const double* b, const double* d, int64_t n) {
  Relative out;
  HWY_DYNAMIC_DISPATCH(RelativeF64)(a, b, d, n, out);
  return out;
}
const char* target_name() { return HWY_DYNAMIC_DISPATCH(Name)(); }

}  // namespace assay::tile
#endif
