#include "assay/metric/tile_range.h"

#include "assay/tensor/simd_targets.h"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_range.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Int>
HWY_INLINE int64_t TotalOf(hn::Vec<hn::ScalableTag<Int>> counts) {
  const hn::ScalableTag<Int> d;
  Int lanes[HWY_MAX_BYTES / sizeof(Int)];
  hn::StoreU(counts, d, lanes);
  int64_t total = 0;
  for (size_t i = 0; i < hn::Lanes(d); ++i) total += lanes[i];
  return total;
}

// The magnitudes of numbers are ordered like whole numbers; behind the largest come infinity and NaN.
template <class Int>
HWY_INLINE RangeCounts RangePass(const std::byte* data, int64_t n, int mantissa_bits) {
  const hn::ScalableTag<Int> d;
  using V = hn::Vec<decltype(d)>;
  constexpr Int kMagnitude = std::numeric_limits<Int>::max(), kLeast = std::numeric_limits<Int>::min();
  const auto one_binade = static_cast<Int>(Int{1} << mantissa_bits);
  const auto infinity = static_cast<Int>(kMagnitude & ~(one_binade - 1));
  const auto below_near = static_cast<Int>(infinity - 2 - one_binade);
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  const V zero = hn::Zero(d), inf = hn::Set(d, infinity), near = hn::Set(d, below_near),
          normal = hn::Set(d, one_binade), magnitudes = hn::Set(d, kMagnitude);
  V nans = zero, infs = zero, minus_infs = zero, nears = zero, subnormal = zero, zeros = zero;
  V largest = hn::Set(d, kLeast), smallest = magnitudes;
  RangeCounts out;
  int64_t i = 0;
  // A mask as a vector is -1 where it holds.
  const auto count = [&](V& counts, auto mask) { counts = hn::Sub(counts, hn::VecFromMask(d, mask)); };
  for (; i + width <= n; i += width) {
    Int loaded[HWY_MAX_BYTES / sizeof(Int)];
    std::memcpy(loaded, data + i * static_cast<int64_t>(sizeof(Int)),
                static_cast<size_t>(width) * sizeof(Int));
    const V bits = hn::LoadU(d, loaded), magnitude = hn::And(bits, magnitudes);
    const V sign = hn::BroadcastSignBit(bits);
    const auto is_inf = hn::Eq(magnitude, inf), is_finite = hn::Lt(magnitude, inf);
    count(nans, hn::Gt(magnitude, inf));
    count(infs, is_inf);
    minus_infs = hn::Sub(minus_infs, hn::And(hn::VecFromMask(d, is_inf), sign));
    count(nears, hn::And(hn::Gt(magnitude, near), is_finite));
    count(subnormal, hn::And(hn::Gt(magnitude, zero), hn::Lt(magnitude, normal)));
    count(zeros, hn::Eq(magnitude, zero));
    const V ordered = hn::Xor(bits, hn::And(sign, magnitudes));
    largest = hn::Max(largest, hn::IfThenElse(is_finite, ordered, hn::Set(d, kLeast)));
    smallest = hn::Min(smallest, hn::IfThenElse(is_finite, ordered, magnitudes));
  }
  out.nans = TotalOf<Int>(nans);
  out.infs = TotalOf<Int>(infs);
  out.minus_infs = TotalOf<Int>(minus_infs);
  out.near_max = TotalOf<Int>(nears);
  out.subnormal = TotalOf<Int>(subnormal);
  out.zeros = TotalOf<Int>(zeros);
  Int low[HWY_MAX_BYTES / sizeof(Int)], high[HWY_MAX_BYTES / sizeof(Int)];
  hn::StoreU(smallest, d, low);
  hn::StoreU(largest, d, high);
  const bool has_finite = out.nans + out.infs < i;
  if (has_finite)
    for (int64_t lane = 0; lane < width; ++lane) {
      out.smallest = std::min(out.smallest, int64_t{low[lane]});
      out.largest = std::max(out.largest, int64_t{high[lane]});
    }
  for (; i < n; ++i) {
    Int bits;
    std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof(Int)), sizeof(Int));
    const auto magnitude = static_cast<Int>(bits & kMagnitude);
    out.nans += magnitude > infinity;
    out.infs += magnitude == infinity;
    out.minus_infs += magnitude == infinity && bits < 0;
    if (magnitude >= infinity) continue;
    out.near_max += magnitude > below_near;
    out.subnormal += magnitude > 0 && magnitude < one_binade;
    out.zeros += magnitude == 0;
    const auto ordered = static_cast<Int>(bits < 0 ? ~magnitude : magnitude);
    out.smallest = std::min(out.smallest, int64_t{ordered});
    out.largest = std::max(out.largest, int64_t{ordered});
  }
  return out;
}

RangeCounts Range16(const std::byte* data, int64_t n, int mantissa_bits) {
  return RangePass<int16_t>(data, n, mantissa_bits);
}
RangeCounts Range32(const std::byte* data, int64_t n, int mantissa_bits) {
  return RangePass<int32_t>(data, n, mantissa_bits);
}
RangeCounts Range64(const std::byte* data, int64_t n, int mantissa_bits) {
  return RangePass<int64_t>(data, n, mantissa_bits);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(Range16);
HWY_EXPORT(Range32);
HWY_EXPORT(Range64);

RangeCounts count_range(const std::byte* data, int64_t n, int64_t bytes, int mantissa_bits) {
  if (bytes == 2) return HWY_DYNAMIC_DISPATCH(Range16)(data, n, mantissa_bits);
  if (bytes == 4) return HWY_DYNAMIC_DISPATCH(Range32)(data, n, mantissa_bits);
  return HWY_DYNAMIC_DISPATCH(Range64)(data, n, mantissa_bits);
}

}  // namespace assay::tile
#endif
