#include "assay/compat/msprobe/metric/tile_errors.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/compat/msprobe/metric/tile_errors.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

// To nearest even, as a value; overflow is infinite.
template <class D>
HWY_INLINE hn::Vec<D> RoundToF16(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
  return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
#else
  const hn::RebindToUnsigned<D> du;
  const auto size = hn::Abs(v);
  const auto bits = hn::BitCast(du, size);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, 0xFFFu)));
  const auto normal = hn::BitCast(d, hn::AndNot(hn::Set(du, 0x1FFFu), up));
  // Below 2^-14 the steps of f16 are all 2^-24: the last place of a float between 0.5 and 1.
  const auto half = hn::Set(d, 0.5f);
  const auto subnormal = hn::Sub(hn::Add(size, half), half);
  const auto rounded = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0x1p-14f)), subnormal, normal);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::CopySign(hn::IfThenElse(hn::Gt(rounded, hn::Set(d, 65504.0f)), infinity, rounded), v);
#endif
}

HWY_INLINE VF RoundSum(DF d, VF v, DType to) { return to == DType::f16 ? RoundToF16(d, v) : v; }
HWY_INLINE V64 RoundSum(D64 d, V64 v, DType to) {
  if (to == DType::f64) return v;
  const DHalf narrow;
  auto rounded = hn::DemoteTo(narrow, v);
  if (to == DType::f16) rounded = RoundToF16(narrow, rounded);
  return hn::PromoteTo(d, rounded);
}

// What a quotient must be less than to be under 0.001 and 0.005 once it is rounded to its type. numpy rounds
// the two numbers to that type as well: to 1049 · 2^-20 and 1311 · 2^-18 in f16. Quotients up to the middle
// between these and the f16 below are rounded to the latter, which are even.
struct Bounds {
  double under_1e3, under_5e3;
};
HWY_INLINE Bounds BoundsOf(DType type) {
  if (type == DType::f64) return {0.001, 0.005};
  if (type == DType::f32) return {static_cast<double>(0.001f), static_cast<double>(0.005f)};
  const auto just_above = [](float middle) { return static_cast<double>(std::nextafter(middle, 1.0f)); };
  return {just_above(1048.5f * 0x1p-20f), just_above(1310.5f * 0x1p-18f)};
}

// Quotients are not rounded to f16 one by one: rounding never changes an order, so the bounds above and the
// rounded maximum are enough.
template <bool kHalves, class D>
HWY_INLINE void MsprobePass(D d, const hn::TFromD<D>* HWY_RESTRICT a, const hn::TFromD<D>* HWY_RESTRICT b,
                            int64_t n, const MsprobeRule& rule, MsprobeErrors& out) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(D()));
  const Bounds bounds = BoundsOf(rule.type);
  const auto bound_1e3 = hn::Set(d, static_cast<T>(bounds.under_1e3));
  const auto bound_5e3 = hn::Set(d, static_cast<T>(bounds.under_5e3));
  const auto add_a = hn::Set(d, static_cast<T>(rule.add_a)), add_b = hn::Set(d, static_cast<T>(rule.add_b));
  // Patterns of numbers >= 0 are in the order of the numbers, with NaN on top: where numpy's maximum puts it.
  auto largest = hn::Zero(di);
  size_t under_1e3 = 0, under_5e3 = 0;
  const auto turn = [&](const T* at_a, const T* at_b) HWY_ATTR {
    auto x = hn::LoadU(d, at_a), y = hn::LoadU(d, at_b);
    const auto at_zero = hn::Eq(y, hn::Zero(d));
    if (!hn::AllFalse(d, at_zero)) {
      x = hn::IfThenElse(at_zero, RoundSum(d, hn::Add(x, add_a), rule.sum_type), x);
      y = hn::IfThenElse(at_zero, add_b, y);
    }
    auto difference = hn::Sub(x, y);
    if constexpr (kHalves) difference = RoundToF16(d, difference);
    const auto r = hn::Abs(hn::Div(difference, y));
    largest = hn::Max(largest, hn::BitCast(di, r));
    under_1e3 += hn::CountTrue(d, hn::Lt(r, bound_1e3));
    under_5e3 += hn::CountTrue(d, hn::Lt(r, bound_5e3));
  };
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) turn(a + i, b + i);
  if (i < n) {  // filled up with 1 against 1, whose error is 0
    T rest_a[kWidth], rest_b[kWidth];
    std::fill(rest_a, rest_a + kWidth, T{1});
    std::fill(rest_b, rest_b + kWidth, T{1});
    std::copy(a + i, a + n, rest_a);
    std::copy(b + i, b + n, rest_b);
    turn(rest_a, rest_b);
    const auto filled = static_cast<size_t>(kWidth - (n - i));
    under_1e3 -= filled;
    under_5e3 -= filled;
  }
  hn::TFromD<decltype(di)> patterns[kWidth];
  hn::StoreU(largest, di, patterns);
  const T max = std::bit_cast<T>(*std::max_element(patterns, patterns + kWidth));
  out.max = static_cast<double>(max);
  out.under_1e3 = static_cast<int64_t>(under_1e3);
  out.under_5e3 = static_cast<int64_t>(under_5e3);
}

void MsprobeF32(const float* a, const float* b, int64_t n, const MsprobeRule& rule, MsprobeErrors& out) {
  if (rule.type != DType::f16) return MsprobePass<false>(DF(), a, b, n, rule, out);
  MsprobePass<true>(DF(), a, b, n, rule, out);
  out.max = static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(out.max))));
}

void MsprobeF64(const double* a, const double* b, int64_t n, const MsprobeRule& rule, MsprobeErrors& out) {
  MsprobePass<false>(D64(), a, b, n, rule, out);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(MsprobeF32);
HWY_EXPORT(MsprobeF64);

MsprobeErrors msprobe_errors(const float* a, const float* b, int64_t n, const MsprobeRule& rule) {
  MsprobeErrors out;
  HWY_DYNAMIC_DISPATCH(MsprobeF32)(a, b, n, rule, out);
  return out;
}
MsprobeErrors msprobe_errors(const double* a, const double* b, int64_t n, const MsprobeRule& rule) {
  MsprobeErrors out;
  HWY_DYNAMIC_DISPATCH(MsprobeF64)(a, b, n, rule, out);
  return out;
}

}  // namespace assay::tile
#endif
