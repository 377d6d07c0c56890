#include "assay/metric/tile_kernels.h"
#include "assay/metric/tile_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_softmax.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
// exp(x), x <= 0: 2^k · e^r with |r| <= ln 2 / 2, and e^r by the polynomial of degree 9 whose largest
// relative error there is least (1.4e-14; coefficients by the Remez exchange). Below -708 the answer stays at
// exp(-708), 3e-308.
template <int kCount>
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
    x[i] = hn::Max(x[i], hn::Set(d, -708.0));
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
  ExpNonpositive<1>(v);
  return hn::GetLane(v[0]);
}

// Vectors of each side whose chains of multiply-adds run beside each other. With 16 registers the compiler
// leaves the constants in memory, and two pairs of chains fit; with 32 it keeps them, and a second pair would
// drive the sums out.
constexpr int kAtOnce = HWY_TARGET == HWY_AVX2 ? 2 : 1;

template <class T>
HWY_INLINE Softmax SoftmaxPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n, double peak_a,
                               double peak_b) {
  const D64 d;
  Lanes za(0), zb(0), cross(0);
  const V64 top_a = hn::Set(d, peak_a), top_b = hn::Set(d, peak_b);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup)
    for (int t = 0; t < kTurns; t += kAtOnce) {
      V64 e[2 * kAtOnce], apart[kAtOnce];
      for (int u = 0; u < kAtOnce; ++u) {
        const V64 x = Widen(a + i + (t + u) * kN), y = Widen(b + i + (t + u) * kN);
        e[2 * u] = hn::Sub(x, top_a);
        e[2 * u + 1] = hn::Sub(y, top_b);
        apart[u] = hn::Sub(y, x);
      }
      ExpNonpositive<2 * kAtOnce>(e);
      for (int u = 0; u < kAtOnce; ++u) {
        const int v = (t + u) % kVecs;
        za.v[v] = hn::Add(za.v[v], e[2 * u]);
        zb.v[v] = hn::Add(zb.v[v], e[2 * u + 1]);
        cross.v[v] = Fused(e[2 * u + 1], apart[u], cross.v[v]);
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

Softmax SoftmaxF32(const float* a, const float* b, int64_t n, double peak_a, double peak_b) {
  return SoftmaxPass(a, b, n, peak_a, peak_b);
}
Softmax SoftmaxF64(const double* a, const double* b, int64_t n, double peak_a, double peak_b) {
  return SoftmaxPass(a, b, n, peak_a, peak_b);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(SoftmaxF32);
HWY_EXPORT(SoftmaxF64);
HWY_EXPORT(ExpOne);

Softmax softmax(const float* a, const float* b, int64_t n, double peak_a, double peak_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF32)(a, b, n, peak_a, peak_b);
}
Softmax softmax(const double* a, const double* b, int64_t n, double peak_a, double peak_b) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxF64)(a, b, n, peak_a, peak_b);
}
double exp_nonpositive(double x) { return HWY_DYNAMIC_DISPATCH(ExpOne)(x); }

}  // namespace assay::tile
#endif
