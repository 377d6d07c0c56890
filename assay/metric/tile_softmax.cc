#include "assay/metric/tile_kernels.h"
#include "assay/metric/tile_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_softmax.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
constexpr double kDeepest = -708;  // exp of this is 3e-308, close to the smallest double of full precision
HWY_INLINE bool IsDeep(const Extremes& side) { return !(side.min - side.max >= kDeepest); }

// exp(x), x <= 0: 2^k · e^r with |r| <= ln 2 / 2, and e^r by the polynomial of degree 9 whose largest
// relative error there is least (1.4e-14; coefficients by the Remez exchange). Below -708 the answer stays at
// exp(-708), 3e-308.
// kDeep: something may lie deeper below its peak than that.
template <int kCount, bool kDeep>
HWY_INLINE void ExpNonpositive(V64* x) {
  constexpr double kCoefficients[] = {0x1.a17c025b8c9ddp-16, 0x1.a01bc270b2662p-13, 0x1.6c162d927894ap-10,
                                      0x1.1111105b5dd29p-7,  0x1.555555879ba90p-5,  0x1.55555555bb64bp-3,
                                      0x1.ffffffffe8295p-2,  0x1.ffffffffffc3ap-1,  0x1.0000000000039p+0};
  const D64 d;
  const hn::RebindToSigned<D64> di;
  const V64 magic =
      hn::Set(d, 0x1.8p52);  // adding it rounds to an integer, which then stands in the low bits
  V64 shifted[kCount], p[kCount];
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kDeep) x[i] = hn::Max(x[i], hn::Set(d, kDeepest));
    shifted[i] = Fused(x[i], hn::Set(d, 1.4426950408889634), magic);
    const V64 k = hn::Sub(shifted[i], magic);
    x[i] = Fused(k, hn::Set(d, -1.9082149292705877e-10), Fused(k, hn::Set(d, -0.6931471803691238), x[i]));
    p[i] = hn::Set(d, 0x1.70dc13550fc5fp-19);
  }
  for (const double coefficient : kCoefficients)
    for (int i = 0; i < kCount; ++i) p[i] = Fused(p[i], x[i], hn::Set(d, coefficient));
  for (int i = 0; i < kCount; ++i)
    x[i] = hn::BitCast(d, hn::Add(hn::BitCast(di, p[i]), hn::ShiftLeft<52>(hn::BitCast(di, shifted[i]))));
}

double ExpOne(double x) {
  V64 v[1] = {hn::Set(D64(), x)};
  ExpNonpositive<1, true>(v);
  return hn::GetLane(v[0]);
}

// The exponentials of one group, which are added to z.
template <bool kDeep, class T>
HWY_INLINE void AddExponentials(const T* from, V64 peak, Lanes& z, V64* e) {
  for (int t = 0; t < kTurns; ++t) e[t] = hn::Sub(Widen(from + t * kN), peak);
  ExpNonpositive<kTurns, kDeep>(e);
  for (int t = 0; t < kTurns; ++t) z.v[t % kVecs] = hn::Add(z.v[t % kVecs], e[t]);
}

// One side after the other: the constants and the chains of both would not fit into registers.
template <bool kDeep, class T>
HWY_INLINE Softmax SoftmaxPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n, double peak_a,
                               double peak_b) {
  const D64 d;
  Lanes za(0), zb(0), cross(0);
  const V64 top_a = hn::Set(d, peak_a), top_b = hn::Set(d, peak_b);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    V64 e[kTurns];
    AddExponentials<kDeep>(a + i, top_a, za, e);
    AddExponentials<kDeep>(b + i, top_b, zb, e);
    for (int t = 0; t < kTurns; ++t) {
      const V64 apart = hn::Sub(Widen(b + i + t * kN), Widen(a + i + t * kN));
      cross.v[t % kVecs] = Fused(e[t], apart, cross.v[t % kVecs]);
    }
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

template <class T>
HWY_INLINE double ExponentialPass(const T* HWY_RESTRICT x, int64_t n, double peak) {
  Lanes z(0);
  const V64 top = hn::Set(D64(), peak);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    V64 e[kTurns];
    AddExponentials<true>(x + i, top, z, e);
  }
  double tail[kLanes] = {};
  for (; i < n; ++i) tail[i % kLanes] += ExpOne(static_cast<double>(x[i]) - peak);
  return Total(z, tail);
}

Softmax SoftmaxF32(const float* a, const float* b, int64_t n, const Extremes& of_a, const Extremes& of_b) {
  if (IsDeep(of_a) || IsDeep(of_b)) return SoftmaxPass<true>(a, b, n, of_a.max, of_b.max);
  return SoftmaxPass<false>(a, b, n, of_a.max, of_b.max);
}
Softmax SoftmaxF64(const double* a, const double* b, int64_t n, const Extremes& of_a, const Extremes& of_b) {
  if (IsDeep(of_a) || IsDeep(of_b)) return SoftmaxPass<true>(a, b, n, of_a.max, of_b.max);
  return SoftmaxPass<false>(a, b, n, of_a.max, of_b.max);
}

double ExponentialsF32(const float* x, int64_t n, double peak) { return ExponentialPass(x, n, peak); }
double ExponentialsF64(const double* x, int64_t n, double peak) { return ExponentialPass(x, n, peak); }

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(SoftmaxF64);
HWY_EXPORT(ExponentialsF32);
HWY_EXPORT(ExponentialsF64);
HWY_EXPORT(ExpOne);

Softmax softmax(const float* a, const float* b, int64_t n, const Extremes& of_a, const Extremes& of_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF32)(a, b, n, of_a, of_b);
}
Softmax softmax(const double* a, const double* b, int64_t n, const Extremes& of_a, const Extremes& of_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF64)(a, b, n, of_a, of_b);
}
double exponentials(const float* x, int64_t n, double peak) {
  return HWY_DYNAMIC_DISPATCH(ExponentialsF32)(x, n, peak);
}
double exponentials(const double* x, int64_t n, double peak) {
  return HWY_DYNAMIC_DISPATCH(ExponentialsF64)(x, n, peak);
}
double exp_nonpositive(double x) { return HWY_DYNAMIC_DISPATCH(ExpOne)(x); }

}  // namespace assay::tile
#endif
