// Vectors of doubles, and the exponential of them. Compiled once per instruction set, hence the guard that
// Highway toggles instead of #pragma once. Every CPU gives the same bits: a multiply-add is fused everywhere
// (by std::fma where the CPU cannot).
#if defined(ASSAY_TENSOR_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_TENSOR_EXP_INL_H_
#undef ASSAY_TENSOR_EXP_INL_H_
#else
#define ASSAY_TENSOR_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<double, 8>;
using V64 = hn::Vec<D64>;
constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D64()));

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

constexpr double kDeepest = -708;  // exp of this is 3e-308, close to the smallest double of full precision

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

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
