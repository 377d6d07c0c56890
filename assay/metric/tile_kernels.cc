#include "assay/metric/tile_kernels.h"

#include "assay/tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

// SSE has no fused multiply-add, so CPUs before 2013 take the portable code, whose std::fma gives the same
// bits, slowly. AVX3_DL adds nothing we use; scalable vectors (SVE) cannot be kept in arrays, and NEON serves
// those CPUs.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = 8;
constexpr int64_t kGroup = 16;  // elements per turn of a loop: one widest vector of floats

using D64 = hn::CappedTag<double, 8>;
using V64 = hn::Vec<D64>;
using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
using DHalf = hn::Rebind<float, D64>;  // as many floats as there are doubles in a V64
constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D64()));
constexpr int kVecs = static_cast<int>(kLanes / kN);
constexpr int kTurns =
    static_cast<int>(kGroup / kN);  // vectors of doubles per group; lane of vector t: t mod kVecs
constexpr int64_t kNF = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int kTurnsF = static_cast<int>(kGroup / kNF);

HWY_INLINE V64 Fused(V64 x, V64 y, V64 z) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(x, y, z);
#else
  const D64 d;
  double a[kN], b[kN], c[kN];
  hn::StoreU(x, d, a);
  hn::StoreU(y, d, b);
  hn::StoreU(z, d, c);
  for (int64_t i = 0; i < kN; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return hn::LoadU(d, c);
#endif
}

HWY_INLINE V64 Widen(const float* from) { return hn::PromoteTo(D64(), hn::LoadU(DHalf(), from)); }
HWY_INLINE V64 Widen(const double* from) { return hn::LoadU(D64(), from); }

// The eight lanes of one quantity.
struct Lanes {
  V64 v[kVecs];

  HWY_INLINE explicit Lanes(double start) {
    for (int i = 0; i < kVecs; ++i) v[i] = hn::Set(D64(), start);
  }
  HWY_INLINE void StoreTo(double* to) const {
    for (int i = 0; i < kVecs; ++i) hn::StoreU(v[i], D64(), to + i * kN);
  }
};

// The fixed tree. `tail` holds what the elements behind the last full group add to each lane, one after
// another.
HWY_INLINE double Total(const Lanes& lanes, const double* tail) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (int i = 0; i < kLanes; ++i) x[i] += tail[i];
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  return x[0];
}

HWY_INLINE double Smallest(const Lanes& lanes, double other) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (const double value : x) other = std::min(other, value);
  return other;
}

HWY_INLINE double Largest(const Lanes& lanes, double other) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (const double value : x) other = std::max(other, value);
  return other;
}

template <class D>
HWY_INLINE double SmallestOf(D d, hn::Vec<D> v, double other) {
  hn::TFromD<D> x[hn::MaxLanes(D())];
  hn::StoreU(v, d, x);
  for (const auto value : x) other = std::min(other, static_cast<double>(value));
  return other;
}

template <class D>
HWY_INLINE double LargestOf(D d, hn::Vec<D> v, double other) {
  hn::TFromD<D> x[hn::MaxLanes(D())];
  hn::StoreU(v, d, x);
  for (const auto value : x) other = std::max(other, static_cast<double>(value));
  return other;
}

constexpr double kMsitEpsilon = 0x1p-23;  // FLT_EPSILON: msit's relative errors ignore smaller golden values
constexpr double kMsprobeEpsilon = 0x1p-52;  // added by msprobe to both sides where golden is zero

// The lanes of the four sums of a Relative.
struct RelativeLanes {
  double r[kLanes] = {}, r_msit[kLanes] = {}, abs_msit[kLanes] = {};
};

// One element, in the arithmetic of T. size = |a-b|, base = |b|, both times `factor`.
template <class T>
HWY_INLINE void RelativeOne(int64_t i, T size, T base, T factor, Relative& out, RelativeLanes& lanes) {
  if (base == 0) {
    if (size == 0) {
      ++out.under_1e3;
      ++out.under_5e3;
    } else {
      ++out.zero_golden;
      out.max_msprobe = std::max(out.max_msprobe, static_cast<double>(size / factor) / kMsprobeEpsilon);
    }
    return;
  }
  const double r = static_cast<double>(size / base);
  lanes.r[i % kLanes] += r;
  out.max = std::max(out.max, r);
  out.max_msprobe = std::max(out.max_msprobe, r);
  out.under_1e3 += r < 0.001;
  out.under_5e3 += r < 0.005;
  if (static_cast<double>(base / factor) > kMsitEpsilon) {
    lanes.r_msit[i % kLanes] += r;
    lanes.abs_msit[i % kLanes] += static_cast<double>(size);
    out.max_msit = std::max(out.max_msit, r);
    out.max_abs_msit = std::max(out.max_abs_msit, static_cast<double>(size));
  }
}

void RelativeF64(const double* a, const double* b, const double* d, int64_t n, double factor, Relative& out) {
  RelativeLanes lanes;
  for (int64_t i = 0; i < n; ++i) {
    const double size = d != nullptr ? std::abs(d[i]) * factor : std::abs(a[i] - b[i]);
    RelativeOne(i, size, std::abs(b[i]), factor, out, lanes);
  }
  const Lanes none(0);
  out.sum = Total(none, lanes.r);
  out.sum_msit = Total(none, lanes.r_msit);
  out.sum_abs_msit = Total(none, lanes.abs_msit);
}

// With zeros among golden: masks instead of branches.
void RelativeF32(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n, Relative& out) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  const VF zero = hn::Zero(df), one = hn::Set(df, 1.0f);
  Lanes sum(0), sum_msit(0), abs_msit(0);
  VF largest = zero, largest_msit = zero, largest_abs_msit = zero, largest_at_zero = zero;
  auto under_1e3 = hn::Zero(di), under_5e3 = hn::Zero(di), zero_golden = hn::Zero(di);
  const auto count = [&](auto mask) HWY_ATTR { return hn::BitCast(di, hn::VecFromMask(df, mask)); };
  int64_t i = 0;
  HWY_ALIGN float quotients[kGroup];
  HWY_ALIGN float msit[kGroup];
  HWY_ALIGN float sizes[kGroup];
  for (; i + kGroup <= n; i += kGroup) {
    for (int v = 0; v < kTurnsF; ++v) {
      const VF y = hn::LoadU(df, b + i + v * kNF);
      const VF size = hn::Abs(hn::Sub(hn::LoadU(df, a + i + v * kNF), y));
      const VF base = hn::Abs(y);
      const auto at_zero = hn::Eq(base, zero);
      const auto differs = hn::Gt(size, zero);
      const VF r = hn::IfThenZeroElse(at_zero, hn::Div(size, hn::IfThenElse(at_zero, one, base)));
      const auto counts_for_msit = hn::Gt(base, hn::Set(df, static_cast<float>(kMsitEpsilon)));
      const VF r_msit = hn::IfThenElseZero(counts_for_msit, r);
      const VF size_msit = hn::IfThenElseZero(counts_for_msit, size);
      largest = hn::Max(largest, r);
      largest_msit = hn::Max(largest_msit, r_msit);
      largest_abs_msit = hn::Max(largest_abs_msit, size_msit);
      const auto lost = hn::And(at_zero, differs);
      largest_at_zero = hn::Max(largest_at_zero, hn::IfThenElseZero(lost, size));
      zero_golden = hn::Sub(zero_golden, count(lost));
      under_1e3 = hn::Sub(under_1e3, hn::AndNot(count(lost), count(hn::Lt(r, hn::Set(df, 0.001f)))));
      under_5e3 = hn::Sub(under_5e3, hn::AndNot(count(lost), count(hn::Lt(r, hn::Set(df, 0.005f)))));
      hn::Store(r, df, quotients + v * kNF);
      hn::Store(r_msit, df, msit + v * kNF);
      hn::Store(size_msit, df, sizes + v * kNF);
    }
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      sum.v[v] = hn::Add(sum.v[v], Widen(quotients + t * kN));
      sum_msit.v[v] = hn::Add(sum_msit.v[v], Widen(msit + t * kN));
      abs_msit.v[v] = hn::Add(abs_msit.v[v], Widen(sizes + t * kN));
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
  out.max_msit = LargestOf(df, largest_msit, 0);
  out.max_abs_msit = LargestOf(df, largest_abs_msit, 0);
  out.max_msprobe = std::max(out.max, LargestOf(df, largest_at_zero, 0) / kMsprobeEpsilon);
  RelativeLanes tail;
  for (; i < n; ++i) RelativeOne(i, std::abs(a[i] - b[i]), std::abs(b[i]), 1.0f, out, tail);
  out.sum = Total(sum, tail.r);
  out.sum_msit = Total(sum_msit, tail.r_msit);
  out.sum_abs_msit = Total(abs_msit, tail.abs_msit);
}

// A sign-magnitude pattern as a place on the number line: -0 and +0 are both 0.
template <class Int>
HWY_INLINE Int Place(Int bits) {
  constexpr Int kMagnitude = std::numeric_limits<Int>::max();
  return static_cast<Int>(bits < 0 ? -(bits & kMagnitude) : bits);
}

template <class D>
HWY_INLINE hn::Vec<D> Places(D d, hn::Vec<D> bits) {
  using Int = hn::TFromD<D>;
  const auto sign = hn::BroadcastSignBit(bits);
  const auto magnitude = hn::And(bits, hn::Set(d, std::numeric_limits<Int>::max()));
  return hn::Sub(hn::Xor(magnitude, sign), sign);
}

template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Distance(D d, const hn::TFromD<hn::RebindToUnsigned<D>>* a,
                                                     const hn::TFromD<hn::RebindToUnsigned<D>>* b) {
  const hn::RebindToUnsigned<D> du;
  const auto x = Places(d, hn::BitCast(d, hn::LoadU(du, a)));
  const auto y = Places(d, hn::BitCast(d, hn::LoadU(du, b)));
  return hn::BitCast(du, hn::Sub(hn::Max(x, y), hn::Min(x, y)));
}

template <class UInt>
HWY_INLINE UInt DistanceOne(UInt a, UInt b) {
  using Int = std::make_signed_t<UInt>;
  const Int x = Place(std::bit_cast<Int>(a)), y = Place(std::bit_cast<Int>(b));
  return static_cast<UInt>(static_cast<UInt>(std::max(x, y)) - static_cast<UInt>(std::min(x, y)));
}

#if HWY_TARGET == HWY_SCALAR
template <class Narrow, class Wide>
HWY_INLINE Ulp UlpPass(const Narrow* a, const Narrow* b, int64_t n) {
  Ulp out;
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Narrow distance = DistanceOne(a[i], b[i]);
    out.max = std::max<uint64_t>(out.max, distance);
    sum += distance;
  }
  out.sum = static_cast<double>(sum);
  return out;
}
#else
// Wide: twice as wide as Narrow. Its sums take the low and the high half of each pair of distances
// separately.
template <class Narrow, class Wide>
HWY_INLINE Ulp UlpPass(const Narrow* HWY_RESTRICT a, const Narrow* HWY_RESTRICT b, int64_t n) {
  using DU = hn::CappedTag<Narrow, 64 / sizeof(Narrow)>;
  using DW = hn::Repartition<Wide, DU>;
  const DU du;
  const DW dw;
  const hn::RebindToSigned<DU> di;
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(DU()));
  constexpr int kBits = sizeof(Narrow) * 8;
  auto largest = hn::Zero(du);
  auto low = hn::Zero(dw), high = hn::Zero(dw);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto distance = Distance(di, a + i, b + i);
    largest = hn::Max(largest, distance);
    const auto pairs = hn::BitCast(dw, distance);
    low = hn::Add(low, hn::And(pairs, hn::Set(dw, static_cast<Wide>(std::numeric_limits<Narrow>::max()))));
    high = hn::Add(high, hn::ShiftRight<kBits>(pairs));
  }
  Narrow maxima[kWidth];
  Wide sums[kWidth];
  hn::StoreU(largest, du, maxima);
  hn::StoreU(low, dw, sums);
  hn::StoreU(high, dw, sums + kWidth / 2);
  Ulp out;
  uint64_t sum = 0;
  for (const Narrow x : maxima) out.max = std::max<uint64_t>(out.max, x);
  for (const Wide x : sums) sum += x;
  for (; i < n; ++i) {
    const Narrow distance = DistanceOne(a[i], b[i]);
    out.max = std::max<uint64_t>(out.max, distance);
    sum += distance;
  }
  out.sum = static_cast<double>(sum);
  return out;
}
#endif

Ulp Ulp16(const uint16_t* a, const uint16_t* b, int64_t n) { return UlpPass<uint16_t, uint32_t>(a, b, n); }
Ulp Ulp32(const uint32_t* a, const uint32_t* b, int64_t n) { return UlpPass<uint32_t, uint64_t>(a, b, n); }

// A place back to the pattern it stands for.
HWY_INLINE uint16_t PatternAt(int16_t place) {
  return static_cast<uint16_t>(place < 0 ? 0x8000 | -place : place);
}

void PatternsOf16(const uint16_t* HWY_RESTRICT a, const uint16_t* HWY_RESTRICT b, int64_t n,
                  Patterns16& out) {
  int16_t min_a = 0x7FFF, max_a = -0x7FFF, min_b = min_a, max_b = max_a;
  uint64_t sum = 0;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using DU = hn::CappedTag<uint16_t, 32>;
  const DU du;
  const hn::RebindToSigned<DU> di;
  const hn::Repartition<uint32_t, DU> dw;
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(DU()));
  auto low_a = hn::Set(di, min_a), high_a = hn::Set(di, max_a), low_b = low_a, high_b = high_a;
  auto largest = hn::Zero(du);
  auto even = hn::Zero(dw), odd = hn::Zero(dw);
  size_t equal = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto x = Places(di, hn::BitCast(di, hn::LoadU(du, a + i)));
    const auto y = Places(di, hn::BitCast(di, hn::LoadU(du, b + i)));
    low_a = hn::Min(low_a, x);
    high_a = hn::Max(high_a, x);
    low_b = hn::Min(low_b, y);
    high_b = hn::Max(high_b, y);
    equal += hn::CountTrue(di, hn::Eq(x, y));
    const auto distance = hn::BitCast(du, hn::Sub(hn::Max(x, y), hn::Min(x, y)));
    largest = hn::Max(largest, distance);
    const auto pairs = hn::BitCast(dw, distance);
    even = hn::Add(even, hn::And(pairs, hn::Set(dw, 0xFFFFu)));
    odd = hn::Add(odd, hn::ShiftRight<16>(pairs));
  }
  min_a = static_cast<int16_t>(SmallestOf(di, low_a, min_a));
  max_a = static_cast<int16_t>(LargestOf(di, high_a, max_a));
  min_b = static_cast<int16_t>(SmallestOf(di, low_b, min_b));
  max_b = static_cast<int16_t>(LargestOf(di, high_b, max_b));
  out.ulp.max = static_cast<uint64_t>(LargestOf(du, largest, 0));
  out.equal = static_cast<int64_t>(equal);
  uint32_t sums[kWidth];
  hn::StoreU(even, dw, sums);
  hn::StoreU(odd, dw, sums + kWidth / 2);
  for (const uint32_t part : sums) sum += part;
#endif
  for (; i < n; ++i) {
    const int16_t x = Place(static_cast<int16_t>(a[i])), y = Place(static_cast<int16_t>(b[i]));
    min_a = std::min(min_a, x);
    max_a = std::max(max_a, x);
    min_b = std::min(min_b, y);
    max_b = std::max(max_b, y);
    out.equal += x == y;
    const uint16_t distance = DistanceOne(a[i], b[i]);
    out.ulp.max = std::max<uint64_t>(out.ulp.max, distance);
    sum += distance;
  }
  out.ulp.sum = static_cast<double>(sum);
  out.min_a = PatternAt(min_a);
  out.max_a = PatternAt(max_a);
  out.min_b = PatternAt(min_b);
  out.max_b = PatternAt(max_b);
}

Ulp Ulp64(const uint64_t* a, const uint64_t* b, int64_t n) {
  Ulp out;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t distance = DistanceOne(a[i], b[i]);
    out.max = std::max(out.max, distance);
    out.sum += static_cast<double>(distance);
  }
  return out;
}

void NarrowToBf16(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(from[i]);
    to[i] = static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
}

void NarrowToF16(const float* from, int64_t n, uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < n; ++i) to[i] = f32_to_f16(from[i]);
#else
  const DF df;
  const hn::Rebind<hwy::float16_t, DF> dh;
  const hn::Rebind<uint16_t, DF> du;
  int64_t i = 0;
  for (; i + kNF <= n; i += kNF)
    hn::StoreU(hn::BitCast(du, hn::DemoteTo(dh, hn::LoadU(df, from + i))), du, to + i);
  for (; i < n; ++i) to[i] = f32_to_f16(from[i]);
#endif
}

// exp(x), x <= 0: 2^k · e^r with |r| <= ln 2 / 2, and e^r by the polynomial of degree 9 whose largest
// relative error there is least (1.4e-14; coefficients by the Remez exchange). Below -708 the answer stays at
// exp(-708), 3e-308.
HWY_INLINE V64 ExpNonpositive(V64 x) {
  const D64 d;
  const hn::RebindToSigned<D64> di;
  x = hn::Max(x, hn::Set(d, -708.0));
  const V64 magic =
      hn::Set(d, 0x1.8p52);  // adding it rounds to an integer, which then stands in the low bits
  const V64 shifted = Fused(x, hn::Set(d, 1.4426950408889634), magic);
  const V64 k = hn::Sub(shifted, magic);
  const V64 r = Fused(k, hn::Set(d, -1.9082149292705877e-10), Fused(k, hn::Set(d, -0.6931471803691238), x));
  V64 p = hn::Set(d, 0x1.70dc13550fc5fp-19);
  p = Fused(p, r, hn::Set(d, 0x1.a17c025b8c9ddp-16));
  p = Fused(p, r, hn::Set(d, 0x1.a01bc270b2662p-13));
  p = Fused(p, r, hn::Set(d, 0x1.6c162d927894ap-10));
  p = Fused(p, r, hn::Set(d, 0x1.1111105b5dd29p-7));
  p = Fused(p, r, hn::Set(d, 0x1.555555879ba90p-5));
  p = Fused(p, r, hn::Set(d, 0x1.55555555bb64bp-3));
  p = Fused(p, r, hn::Set(d, 0x1.ffffffffe8295p-2));
  p = Fused(p, r, hn::Set(d, 0x1.ffffffffffc3ap-1));
  p = Fused(p, r, hn::Set(d, 0x1.0000000000039p+0));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

double ExpOne(double x) { return hn::GetLane(ExpNonpositive(hn::Set(D64(), x))); }

template <class T>
HWY_INLINE Softmax SoftmaxPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n, double peak_a,
                               double peak_b) {
  const D64 d;
  Lanes za(0), zb(0), cross(0);
  const V64 top_a = hn::Set(d, peak_a), top_b = hn::Set(d, peak_b);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup)
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      const V64 x = Widen(a + i + t * kN), y = Widen(b + i + t * kN);
      const V64 weight = ExpNonpositive(hn::Sub(y, top_b));
      za.v[v] = hn::Add(za.v[v], ExpNonpositive(hn::Sub(x, top_a)));
      zb.v[v] = hn::Add(zb.v[v], weight);
      cross.v[v] = Fused(weight, hn::Sub(y, x), cross.v[v]);
    }
  double tail_za[kLanes] = {}, tail_zb[kLanes] = {}, tail_cross[kLanes] = {};
  for (; i < n; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double weight = ExpOne(y - peak_b);
    tail_za[i % kLanes] += ExpOne(x - peak_a);
    tail_zb[i % kLanes] += weight;
    tail_cross[i % kLanes] = std::fma(weight, y - x, tail_cross[i % kLanes]);
  }
  return {Total(za, tail_za), Total(zb, tail_zb), Total(cross, tail_cross)};
}

Softmax SoftmaxF32(const float* a, const float* b, int64_t n, double peak_a, double peak_b) {
  return SoftmaxPass(a, b, n, peak_a, peak_b);
}
Softmax SoftmaxF64(const double* a, const double* b, int64_t n, double peak_a, double peak_b) {
  return SoftmaxPass(a, b, n, peak_a, peak_b);
}

// What the elements behind the last full group of a tile add: the same operations one by one.
struct Tail {
  double aa[kLanes] = {}, bb[kLanes] = {}, ab[kLanes] = {}, dd[kLanes] = {}, sum_a[kLanes] = {},
         sum_b[kLanes] = {};
  double diff[kLanes] = {}, abs_diff[kLanes] = {};
  RelativeLanes relative;
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
                            Measured& out) {
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
    // The next tile comes into the cache while this one is measured; where there is none, nothing happens.
    hwy::Prefetch(a + i + kTile);
    hwy::Prefetch(b + i + kTile);
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
  bool small_base = false;
  for (int64_t k = i; k < n; ++k) {
    tail.Add(k, static_cast<double>(a[k]), static_cast<double>(b[k]),
             static_cast<double>(a[k]) - static_cast<double>(b[k]));
    if constexpr (kRelative) {
      RelativeOne(k, std::abs(a[k] - b[k]), std::abs(b[k]), 1.0f, r, tail.relative);
      small_base |= !(std::abs(b[k]) > static_cast<float>(kMsitEpsilon));
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
      out.ulp = Ulp32(reinterpret_cast<const uint32_t*>(a), reinterpret_cast<const uint32_t*>(b), n);
  }
  if constexpr (kRelative) {
    r.max = LargestOf(df, r_max, r.max);
    r.max_msit = r.max_msprobe = r.max;
    r.sum = r.sum_msit = Total(r_sum, tail.relative.r);
    r.max_abs_msit = core.max_abs;
    r.sum_abs_msit = core.abs_diff;
    r.under_1e3 += static_cast<int64_t>(under_1e3);
    r.under_5e3 += static_cast<int64_t>(under_5e3);
    out.relative_done = !small_base && SmallestOf(df, min_base, static_cast<double>(kInf)) > kMsitEpsilon &&
                        core.max_abs <= static_cast<double>(std::numeric_limits<float>::max());
  }
}

void MeasureF32(const float* a, const float* b, int64_t n, Wanted wanted, Measured& out) {
  if (!wanted.extremes) {
    if (wanted.relative) return MeasurePass<true, false, true, false>(a, b, n, out);
    if (wanted.means) return MeasurePass<true, false, false, false>(a, b, n, out);
    return MeasurePass<false, false, false, false>(a, b, n, out);
  }
  if (wanted.relative) {
    if (wanted.ulp) return MeasurePass<true, true, true, true>(a, b, n, out);
    return MeasurePass<true, false, true, true>(a, b, n, out);
  }
  if (wanted.means) {
    if (wanted.ulp) return MeasurePass<true, true, false, true>(a, b, n, out);
    return MeasurePass<true, false, false, true>(a, b, n, out);
  }
  if (wanted.ulp) return MeasurePass<false, true, false, true>(a, b, n, out);
  MeasurePass<false, false, false, true>(a, b, n, out);
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
HWY_EXPORT(PatternsOf16);
HWY_EXPORT(Ulp16);
HWY_EXPORT(Ulp32);
HWY_EXPORT(Ulp64);
HWY_EXPORT(NarrowToBf16);
HWY_EXPORT(NarrowToF16);
HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(SoftmaxF64);
HWY_EXPORT(ExpOne);
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
Relative relative(const double* a, const double* b, const double* d, int64_t n, double factor) {
  Relative out;
  HWY_DYNAMIC_DISPATCH(RelativeF64)(a, b, d, n, factor, out);
  return out;
}
Patterns16 patterns16(const uint16_t* a, const uint16_t* b, int64_t n) {
  Patterns16 out;
  HWY_DYNAMIC_DISPATCH(PatternsOf16)(a, b, n, out);
  return out;
}
Ulp ulp_distance(const uint16_t* a, const uint16_t* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Ulp16)(a, b, n);
}
Ulp ulp_distance(const uint32_t* a, const uint32_t* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Ulp32)(a, b, n);
}
Ulp ulp_distance(const uint64_t* a, const uint64_t* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Ulp64)(a, b, n);
}
uint64_t ulp_distance_one(uint16_t a, uint16_t b) { return HWY_STATIC_DISPATCH(DistanceOne)(a, b); }
uint64_t ulp_distance_one(uint32_t a, uint32_t b) { return HWY_STATIC_DISPATCH(DistanceOne)(a, b); }
uint64_t ulp_distance_one(uint64_t a, uint64_t b) { return HWY_STATIC_DISPATCH(DistanceOne)(a, b); }
void narrow_to_bf16(const float* from, int64_t n, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(NarrowToBf16)(from, n, to);
}
void narrow_to_f16(const float* from, int64_t n, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(NarrowToF16)(from, n, to);
}
Softmax softmax(const float* a, const float* b, int64_t n, double peak_a, double peak_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF32)(a, b, n, peak_a, peak_b);
}
Softmax softmax(const double* a, const double* b, int64_t n, double peak_a, double peak_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF64)(a, b, n, peak_a, peak_b);
}
double exp_nonpositive(double x) { return HWY_DYNAMIC_DISPATCH(ExpOne)(x); }
const char* target_name() { return HWY_DYNAMIC_DISPATCH(Name)(); }

}  // namespace assay::tile
#endif
