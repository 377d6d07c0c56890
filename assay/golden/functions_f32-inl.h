// Functions of vectors of floats, and sums in lanes whose number does not depend on the width of a vector.
// Every CPU gives the same bits: nothing is fused. Compiled once per instruction set, hence the guard that
// Highway toggles instead of #pragma once.
#if defined(ASSAY_GOLDEN_FUNCTIONS_F32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_GOLDEN_FUNCTIONS_F32_INL_H_
#undef ASSAY_GOLDEN_FUNCTIONS_F32_INL_H_
#else
#define ASSAY_GOLDEN_FUNCTIONS_F32_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
constexpr int64_t kNF = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kLanesF = 16;
constexpr int kVecsF = static_cast<int>(kLanesF / kNF);
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// e^x for x <= 0, within 2 units; 0 where it is no normal number. NaN of NaN.
HWY_INLINE VF ExpOfNegative(VF x) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  constexpr float kTaylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  const VF least = hn::Set(d, -87.33654f), magic = hn::Set(d, 12582912.0f);  // 1.5 · 2^23: whole numbers stay
  const VF inside = hn::IfThenElse(hn::Lt(x, least), least, x);
  const VF shifted = hn::Add(hn::Mul(inside, hn::Set(d, 1.44269504f)), magic);
  const VF whole = hn::Sub(shifted, magic);
  const VF r = hn::Sub(hn::Sub(inside, hn::Mul(whole, hn::Set(d, 0.693359375f))),
                       hn::Mul(whole, hn::Set(d, -2.12194440e-4f)));
  VF sum = hn::Set(d, 1.0f / 5040);
  for (const float coefficient : kTaylor) sum = hn::Add(hn::Mul(sum, r), hn::Set(d, coefficient));
  const auto exponent = hn::ShiftLeft<23>(
      hn::Add(hn::Sub(hn::BitCast(du, shifted), hn::BitCast(du, magic)), hn::Set(du, 127u)));
  const VF power = hn::BitCast(d, hn::And(exponent, hn::Set(du, 0x7F800000u)));
  return hn::IfThenZeroElse(hn::Lt(x, least), hn::Mul(sum, power));
}

struct LanesF {
  VF v[kVecsF];
  HWY_INLINE explicit LanesF(float start) {
    for (VF& each : v) each = hn::Set(DF(), start);
  }
  HWY_INLINE void StoreTo(float* to) const {
    for (int i = 0; i < kVecsF; ++i) hn::StoreU(v[i], DF(), to + i * kNF);
  }
  HWY_INLINE float Total() const {
    float lanes[kLanesF], sum = 0;
    StoreTo(lanes);
    for (const float lane : lanes) sum += lane;
    return sum;
  }
};

}  // namespace assay::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
