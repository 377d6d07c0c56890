#include "assay/tensor/dtype_simd.h"

#include "assay/tensor/dtype.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/tensor/dtype_simd.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/tensor/round-inl.h"

#include <hwy/highway.h>
#include <hwy/nanobenchmark.h>

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;

HWY_INLINE auto bf16_words_to_f32_words(hn::Vec<WordTag> half) { return hn::ShiftLeft<16>(half); }

// `Widen` works on 32-bit words that hold one 16-bit pattern each; `one` does the last few.
template <class Widen>
HWY_INLINE void widen(const std::byte* from, int64_t count, float* to, Widen all, float (*one)(uint16_t)) {
  const WordTag words;
  const FloatTag floats;
  const HalfTag halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto half = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from + 2 * i));
    hn::StoreU(hn::BitCast(floats, all(hn::PromoteTo(words, half))), floats, to + i);
  }
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    to[i] = one(bits);
  }
}

// The conversion instruction is exact, subnormals included, and makes NaNs quiet.
void widen_f16(const std::byte* from, int64_t count, float* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag floats;
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::LoadU(HalfTag(), reinterpret_cast<const uint16_t*>(from + 2 * i));
    hn::StoreU(hn::PromoteTo(floats, hn::BitCast(halves, bits)), floats, to + i);
  }
#endif
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    to[i] = f16_to_f32(bits);
  }
}

void widen_bf16(const std::byte* from, int64_t count, float* to) {
  widen(
      from, count, to, [](hn::Vec<WordTag> v) HWY_ATTR { return bf16_words_to_f32_words(v); }, bf16_to_f32);
}

constexpr int64_t kPieceOfFloats = 1024;

template <void (*kWiden)(const std::byte*, int64_t, float*), int64_t kSize>
HWY_INLINE void by_floats(const std::byte* from, int64_t count, double* to) {
  float piece[kPieceOfFloats];
  for (int64_t done = 0; done < count; done += kPieceOfFloats) {
    const int64_t part = std::min(kPieceOfFloats, count - done);
    kWiden(from + kSize * done, part, piece);
    for (int64_t i = 0; i < part; ++i) to[done + i] = static_cast<double>(piece[i]);
  }
}

void widen_f16_twice(const std::byte* from, int64_t count, double* to) {
  by_floats<widen_f16, 2>(from, count, to);
}
void widen_bf16_twice(const std::byte* from, int64_t count, double* to) {
  by_floats<widen_bf16, 2>(from, count, to);
}
void copy_f32(const std::byte* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
void widen_f32(const std::byte* from, int64_t count, double* to) { by_floats<copy_f32, 4>(from, count, to); }

HWY_INLINE void store_half(uint16_t bits, std::byte* to) { std::memcpy(to, &bits, sizeof bits); }

template <class Numbers>
HWY_INLINE void round_all(double* values, int64_t count) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(RoundTo<Numbers>(d, hn::LoadU(d, values + i)), d, values + i);
  const hn::CappedTag<double, 1> one;
  for (; i < count; ++i) hn::StoreU(RoundTo<Numbers>(one, hn::LoadU(one, values + i)), one, values + i);
}
// What stays of f32 once it holds a number of the type.
HWY_INLINE auto bits_of(F16Numbers, hn::Vec<FloatTag> v) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::BitCast(HalfTag(), hn::DemoteTo(halves, v));
}
HWY_INLINE auto bits_of(Bf16Numbers, hn::Vec<FloatTag> v) {
  return hn::TruncateTo(HalfTag(), hn::ShiftRight<16>(hn::BitCast(WordTag(), v)));
}

// `one` does the last few, and those among which there is a NaN.
template <class Numbers>
HWY_INLINE void narrow_all(const double* from, int64_t count, std::byte* to, uint16_t (*one)(double)) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Repartition<double, FloatTag> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag())), half = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    const auto low = hn::LoadU(d, from + i), high = hn::LoadU(d, from + i + half);
    if (!hn::AllFalse(d, hn::Or(hn::IsNaN(low), hn::IsNaN(high)))) {
      for (int64_t k = i; k < i + lanes; ++k) store_half(one(from[k]), to + 2 * k);
      continue;
    }
    const hn::Half<FloatTag> floats;
    const auto both = hn::Combine(FloatTag(), hn::DemoteTo(floats, RoundTo<Numbers>(d, high)),
                                  hn::DemoteTo(floats, RoundTo<Numbers>(d, low)));
    hn::StoreU(bits_of(Numbers(), both), HalfTag(), reinterpret_cast<uint16_t*>(to + 2 * i));
  }
#endif
  for (; i < count; ++i) store_half(one(from[i]), to + 2 * i);
}
void narrow_f16(const double* from, int64_t count, std::byte* to) {
  narrow_all<F16Numbers>(from, count, to, f64_to_f16);
}
void narrow_bf16(const double* from, int64_t count, std::byte* to) {
  narrow_all<Bf16Numbers>(from, count, to, f64_to_bf16);
}

void round_f16(double* values, int64_t count) { round_all<F16Numbers>(values, count); }
void round_bf16(double* values, int64_t count) { round_all<Bf16Numbers>(values, count); }

}  // namespace
}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
// Highway's library measures the timer of its benchmarks whenever it is loaded, which takes longer (4 ms)
// than all else that a small comparison does. It finds this in place of its own; nobody asks for the answer.
uint64_t hwy::platform::TimerResolution() { return 1; }

namespace assay {

HWY_EXPORT(widen_f16);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(widen_f16_twice);
HWY_EXPORT(widen_bf16_twice);
HWY_EXPORT(widen_f32);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(round_f16);
HWY_EXPORT(round_bf16);

void widen_f16(const std::byte* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_f16)(from, count, to);
}
void widen_bf16(const std::byte* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_bf16)(from, count, to);
}

void widen_f16(const std::byte* from, int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(widen_f16_twice)(from, count, to);
}
void widen_bf16(const std::byte* from, int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(widen_bf16_twice)(from, count, to);
}
void widen_f32(const std::byte* from, int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(widen_f32)(from, count, to);
}
void narrow_f16(const double* from, int64_t count, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(narrow_f16)(from, count, to);
}
void narrow_bf16(const double* from, int64_t count, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, count, to);
}
void round_f16(double* values, int64_t count) { HWY_DYNAMIC_DISPATCH(round_f16)(values, count); }
void round_bf16(double* values, int64_t count) { HWY_DYNAMIC_DISPATCH(round_bf16)(values, count); }

}  // namespace assay
#endif
