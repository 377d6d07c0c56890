// Doubles rounded to the numbers of a 16-bit type. Compiled once per instruction set, hence the guard that
// Highway toggles instead of #pragma once.
#if defined(ASSAY_TENSOR_ROUND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_TENSOR_ROUND_INL_H_
#undef ASSAY_TENSOR_ROUND_INL_H_
#else
#define ASSAY_TENSOR_ROUND_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// What a 16-bit type holds: bits behind the point, the exponent of its smallest normal number, and from where
// on a number becomes infinite.
struct F16Numbers {
  static constexpr int kBits = 10, kLeastExponent = -14;
  static constexpr double kInfiniteFrom = 65520;
};
struct Bf16Numbers {
  static constexpr int kBits = 7, kLeastExponent = -126;
  static constexpr double kInfiniteFrom = 0x1.FFp127;
};

// To nearest even: adding 1.5 · 2^(52 - bits) times the power of two below |x| leaves no smaller bits.
template <class Numbers, class D>
HWY_INLINE hn::Vec<D> RoundTo(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  constexpr int64_t kLeast = int64_t{Numbers::kLeastExponent + 1023} << 52;
  constexpr int64_t kHigher = int64_t{52 - Numbers::kBits} << 52, kOneAndAHalf = int64_t{1} << 51;
  const auto away = hn::Min(hn::Abs(x), hn::Set(d, Numbers::kInfiniteFrom));  // of NaN anything
  const auto power = hn::And(hn::BitCast(di, away), hn::Set(di, int64_t{0x7FF} << 52));
  const auto large = hn::Max(hn::BitCast(d, power), hn::BitCast(d, hn::Set(di, kLeast)));
  const auto magic = hn::BitCast(d, hn::Add(hn::BitCast(di, large), hn::Set(di, kHigher + kOneAndAHalf)));
  const auto near = hn::Sub(hn::Add(away, magic), magic);
  const auto is_far = hn::Ge(away, hn::Set(d, Numbers::kInfiniteFrom));
  const auto rounded = hn::CopySign(hn::IfThenElse(is_far, hn::Set(d, HUGE_VAL), near), x);
  return hn::IfThenElse(hn::IsNaN(x), x, rounded);
}

}  // namespace
}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
