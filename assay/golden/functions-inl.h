// Functions of vectors of doubles, each within 2^-43 of the true value but where another error is named
// (docs/operators/rows.md, "Our own error"). Polynomials by the Remez exchange. Compiled once per instruction
// set, hence the guard that Highway toggles instead of #pragma once.
#if defined(ASSAY_GOLDEN_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_GOLDEN_FUNCTIONS_INL_H_
#undef ASSAY_GOLDEN_FUNCTIONS_INL_H_
#else
#define ASSAY_GOLDEN_FUNCTIONS_INL_H_
#endif

#include "assay/golden/kernels.h"
#include "assay/tensor/exp-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

HWY_INLINE V64 Constant(double value) { return hn::Set(D64(), value); }

// The first coefficient is that of the highest power.
template <int kCount>
HWY_INLINE V64 Polynomial(V64 x, const double (&coefficients)[kCount]) {
  V64 sum = Constant(coefficients[0]);
  for (int i = 1; i < kCount; ++i) sum = Fused(sum, x, Constant(coefficients[i]));
  return sum;
}

// e^x, x <= 0; 0 below -708, NaN of NaN.
HWY_INLINE V64 ExpOrZero(V64 x) {
  V64 e[1] = {x};
  ExpNonpositive<1, true>(e);
  const V64 kept = hn::IfThenElseZero(hn::Ge(x, Constant(kDeepest)), e[0]);
  return hn::IfThenElse(hn::IsNaN(x), x, kept);
}

// 1 / (1 + e^-z), and its slope.
struct SigmoidParts {
  V64 value, slope;
};
HWY_INLINE SigmoidParts SigmoidOf(V64 z) {
  const V64 e = ExpOrZero(hn::Neg(hn::Abs(z)));
  const V64 of_away = hn::Div(Constant(1), hn::Add(Constant(1), e));
  const V64 of_near = hn::Mul(e, of_away);
  return {hn::IfThenElse(hn::Lt(z, hn::Zero(D64())), of_near, of_away), hn::Mul(of_near, of_away)};
}

HWY_INLINE V64 TanhOf(V64 x) {
  constexpr double kNearZero[] = {0x1.af3f23e75ceafp-9,  -0x1.2198577d65c09p-7, 0x1.664ac4011931cp-6,
                                  -0x1.ba1b9523d3110p-5, 0x1.11111108b351fp-3,  -0x1.5555555551286p-2,
                                  0x1.ffffffffffffbp-1};
  const V64 away = hn::Abs(x), e = ExpOrZero(hn::Mul(Constant(-2), away));
  const V64 far = hn::Div(hn::Sub(Constant(1), e), hn::Add(Constant(1), e));
  const V64 near = hn::Mul(away, Polynomial(hn::Mul(x, x), kNearZero));
  return hn::CopySign(hn::IfThenElse(hn::Lt(away, Constant(0.25)), near, far), x);
}

// e^-x for 0 <= x <= 702, within 2^-34 of itself.
HWY_INLINE V64 ExpOfMinus(V64 x) {
  constexpr double kCoefficients[] = {0x1.9eb715ae666f8p-13, 0x1.6da4c0c8bcd5ap-10, 0x1.1112fa5b3ba63p-7,
                                      0x1.555468597dcdcp-5,  0x1.55555343b431ap-3,  0x1.00000059d9720p-1,
                                      0x1.000000010b7f3p+0,  0x1.ffffffffababbp-1};
  const D64 d;
  const hn::RebindToSigned<D64> di;
  const V64 magic = Constant(0x1.8p52);  // whole numbers stand in its low bits
  const V64 shifted = Fused(x, Constant(-1.4426950408889634), magic);
  const V64 rest = Fused(hn::Sub(shifted, magic), Constant(-0.6931471805599453), hn::Neg(x));
  const auto bits = hn::BitCast(di, Polynomial(rest, kCoefficients));
  return hn::BitCast(d, hn::Add(bits, hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

// erfc(t) of t = |x| / √2, within 2^-28.6 of itself, and e^(-t²): erfc(t) e^(t²) (1 + 2 t) is smooth in
// (t - 3) / (t + 3). Both are 0 beyond 26.49, where they are no numbers of f32 any more.
struct ErfcParts {
  V64 t, erfc, exponential;
};
HWY_INLINE ErfcParts ErfcOfRoot(V64 x) {
  constexpr double kScaled[] = {0x1.1f30849147c6dp-14, -0x1.b2208881bc0abp-14, -0x1.75dcf4e54355dp-11,
                                0x1.f0448a745ed01p-10, 0x1.46a8394b9ffb9p-9,   -0x1.858337ec10889p-6,
                                0x1.17d497d6decb2p-4,  -0x1.e88aa3900d282p-4,  0x1.0982cdf0dd964p-3,
                                -0x1.85a17cf3416b5p-5, -0x1.15c07fb8d17f8p-3,  0x1.40c522daa39adp+0};
  const V64 farthest = Constant(26.49);
  const V64 t = hn::Min(hn::Mul(hn::Abs(x), Constant(0.70710678118654752440)), farthest);
  const V64 e = hn::IfThenElseZero(hn::Lt(t, farthest), ExpOfMinus(hn::Mul(t, t)));
  const V64 shifted = hn::Add(t, Constant(3)), scale = Fused(Constant(2), t, Constant(1));
  const V64 inverse = hn::Div(Constant(1), hn::Mul(shifted, scale));  // of both at once
  const V64 place = hn::Mul(hn::Mul(hn::Sub(t, Constant(3)), scale), inverse);
  return {t, hn::Mul(Polynomial(place, kScaled), hn::Mul(hn::Mul(e, shifted), inverse)), e};
}

// x > 0: 2^k m, √½ <= m < √2, and ln m by its series in (m - 1) / (m + 1).
HWY_INLINE V64 LogOf(V64 x) {
  constexpr double kSeries[] = {0x1.590725fff953ap-3, 0x1.731f172d641b2p-3, 0x1.c722ec719b816p-3,
                                0x1.2492408038172p-2, 0x1.999999a48ed3dp-2, 0x1.5555555552bb1p-1,
                                0x1.0000000000001p+1};
  const D64 d;
  const hn::RebindToSigned<D64> di;
  const auto bits = hn::BitCast(di, x);
  const auto k =
      hn::ShiftRight<52>(hn::Sub(bits, hn::Set(di, int64_t{0x3fe6a09e667f3bcd})));  // √½ begins a turn
  const V64 m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(k)));
  const V64 magic = Constant(0x1.8p52);  // whole numbers stand in its low bits
  const V64 turns = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(di, magic), k)), magic);
  const V64 s = hn::Div(hn::Sub(m, Constant(1)), hn::Add(m, Constant(1)));
  const V64 of_m = hn::Mul(s, Polynomial(hn::Mul(s, s), kSeries));
  const V64 value = Fused(turns, Constant(0x1.62e42fefa39efp-1), of_m);
  const V64 zero = hn::Zero(d), infinite = Constant(HUGE_VAL);
  const V64 at_zero = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinite), value);
  const V64 at_end = hn::IfThenElse(hn::Eq(x, infinite), infinite, at_zero);
  const V64 of_nan = hn::IfThenElse(hn::IsNaN(x), x, at_end);
  return hn::IfThenElse(hn::Lt(x, zero), Constant(NAN), of_nan);
}

// |x| <= kFarthestAngle: x less whole quarter turns, π/2 in two parts.
constexpr double kFarthestAngle = 0x1p20;
struct Angle {
  V64 sine, cosine;  // of the rest
  hn::Vec<hn::RebindToSigned<D64>> quarter;
};
HWY_INLINE Angle AngleOf(V64 x) {
  constexpr double kSine[] = {-0x1.a949b155fa0afp-26, 0x1.71d71cd796c98p-19, -0x1.a019f8763153dp-13,
                              0x1.1111110bb858fp-7,   -0x1.5555555550c1ap-3, 0x1.fffffffffffd7p-1};
  constexpr double kCosine[] = {0x1.1b7f7d7f40d04p-29,  -0x1.27df15a32cbbbp-22, 0x1.a019f787d4274p-16,
                                -0x1.6c16c1632edd6p-10, 0x1.555555554dcfbp-5,   -0x1.fffffffffff66p-2,
                                0x1.fffffffffffffp-1};
  const V64 magic = Constant(0x1.8p52);
  const V64 shifted = Fused(x, Constant(0.63661977236758134308), magic), turns = hn::Sub(shifted, magic);
  const V64 rest =
      Fused(turns, Constant(-0x1.1a62633145c07p-54), Fused(turns, Constant(-0x1.921fb54442d18p+0), x));
  const V64 square = hn::Mul(rest, rest);
  return {hn::Mul(rest, Polynomial(square, kSine)), Polynomial(square, kCosine),
          hn::BitCast(hn::RebindToSigned<D64>(), shifted)};
}
// Of a quarter of a turn: sine and cosine take turns, and change sign after two.
HWY_INLINE V64 AtQuarter(V64 even, V64 odd, hn::Vec<hn::RebindToSigned<D64>> quarter) {
  const D64 d;
  const hn::RebindToSigned<D64> di;
  const auto is_odd = hn::RebindMask(d, hn::Eq(hn::And(quarter, hn::Set(di, 1)), hn::Set(di, 1)));
  const V64 sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quarter, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(is_odd, odd, even), sign);
}
HWY_INLINE V64 SineOf(V64 x) {
  const Angle angle = AngleOf(x);
  return AtQuarter(angle.sine, angle.cosine, angle.quarter);
}
HWY_INLINE V64 CosineOf(V64 x) {
  const Angle angle = AngleOf(x);
  return AtQuarter(angle.sine, angle.cosine, hn::Add(angle.quarter, hn::Set(hn::RebindToSigned<D64>(), 1)));
}

// `f(x, value, error)` of each vector; what is left at the end is padded with ones.
template <class F>
HWY_INLINE void EachVector(const double* HWY_RESTRICT x, int64_t n, kernel::Out out, F f) {
  const D64 d;
  int64_t i = 0;
  V64 value, error;
  for (; i + kN <= n; i += kN) {
    f(hn::LoadU(d, x + i), value, error);
    hn::StoreU(value, d, out.values + i);
    hn::StoreU(error, d, out.errors + i);
  }
  if (i == n) return;
  double rest[kN], values[kN], errors[kN];
  std::fill_n(rest, kN, 1.0);
  std::copy(x + i, x + n, rest);
  f(hn::LoadU(d, rest), value, error);
  hn::StoreU(value, d, values);
  hn::StoreU(error, d, errors);
  std::copy(values, values + (n - i), out.values + i);
  std::copy(errors, errors + (n - i), out.errors + i);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
