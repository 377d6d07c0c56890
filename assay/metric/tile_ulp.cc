#include "assay/metric/tile_kernels.h"
#include "assay/tensor/dtype.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_ulp.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Distance(D d, const hn::TFromD<hn::RebindToUnsigned<D>>* a,
                                                     const hn::TFromD<hn::RebindToUnsigned<D>>* b) {
  const hn::RebindToUnsigned<D> du;
  const auto x = Places(d, hn::BitCast(d, hn::LoadU(du, a)));
  const auto y = Places(d, hn::BitCast(d, hn::LoadU(du, b)));
  return hn::BitCast(du, hn::Sub(hn::Max(x, y), hn::Min(x, y)));
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

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(PatternsOf16);
HWY_EXPORT(Ulp16);
HWY_EXPORT(Ulp32);
HWY_EXPORT(Ulp64);
HWY_EXPORT(NarrowToBf16);
HWY_EXPORT(NarrowToF16);

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

}  // namespace assay::tile
#endif
