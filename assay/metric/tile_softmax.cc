#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_softmax.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
HWY_INLINE bool IsDeep(const Extremes& side) { return !(side.min - side.max >= kDeepest); }

double ExpOne(double x) {
  V64 v[1] = {hn::Set(D64(), x)};
  ExpNonpositive<1, true>(v);
  return hn::GetLane(v[0]);
}

// Both sides at once: so many chains hide how long a multiply-add takes, though not all fit into registers.
template <bool kDeep, class T>
HWY_INLINE Softmax SoftmaxPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n, double peak_a,
                               double peak_b) {
  const D64 d;
  Lanes za(0), zb(0), cross(0);
  const V64 top_a = hn::Set(d, peak_a), top_b = hn::Set(d, peak_b);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    V64 e[2 * kTurns], apart[kTurns];  // of a, then of b
    for (int t = 0; t < kTurns; ++t) {
      const V64 x = Widen(a + i + t * kN), y = Widen(b + i + t * kN);
      e[t] = hn::Sub(x, top_a);
      e[kTurns + t] = hn::Sub(y, top_b);
      apart[t] = hn::Sub(y, x);
    }
    ExpNonpositive<2 * kTurns, kDeep>(e);
    for (int t = 0; t < kTurns; ++t) {
      za.v[t % kVecs] = hn::Add(za.v[t % kVecs], e[t]);
      zb.v[t % kVecs] = hn::Add(zb.v[t % kVecs], e[kTurns + t]);
      cross.v[t % kVecs] = Fused(e[kTurns + t], apart[t], cross.v[t % kVecs]);
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
    for (int t = 0; t < kTurns; ++t) e[t] = hn::Sub(Widen(x + i + t * kN), top);
    ExpNonpositive<kTurns, true>(e);
    for (int t = 0; t < kTurns; ++t) z.v[t % kVecs] = hn::Add(z.v[t % kVecs], e[t]);
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
