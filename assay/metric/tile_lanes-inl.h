// What the tile kernels share: eight fixed lanes of doubles, and places on the number line. Compiled once per
// instruction set, hence the guard that Highway toggles instead of #pragma once.
#if defined(ASSAY_METRIC_TILE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_METRIC_TILE_LANES_INL_H_
#undef ASSAY_METRIC_TILE_LANES_INL_H_
#else
#define ASSAY_METRIC_TILE_LANES_INL_H_
#endif

#include "assay/tensor/exp-inl.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
constexpr int64_t kLanes = 8;
constexpr int64_t kGroup = 16;  // elements per turn of a loop: one widest vector of floats

using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
using DHalf = hn::Rebind<float, D64>;  // as many floats as there are doubles in a V64
constexpr int kVecs = static_cast<int>(kLanes / kN);
constexpr int kTurns =
    static_cast<int>(kGroup / kN);  // vectors of doubles per group; lane of vector t: t mod kVecs
constexpr int64_t kNF = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int kTurnsF = static_cast<int>(kGroup / kNF);

HWY_INLINE V64 Widen(const float* from) { return hn::PromoteTo(D64(), hn::LoadU(DHalf(), from)); }
HWY_INLINE V64 Widen(const double* from) { return hn::LoadU(D64(), from); }

// The eight lanes of one quantity.
struct Lanes {
  V64 v[kVecs];

  HWY_INLINE explicit Lanes(double start) {
    for (int i = 0; i < kVecs; ++i) v[i] = hn::Set(D64(), start);
  }
  HWY_INLINE void StoreTo(double* to) const {
    for (int i = 0; i < kVecs; ++i) hn::StoreU(v[i], D64(), to + i * kN);
  }
};

// The fixed tree. `tail` holds what the elements behind the last full group add to each lane, one after
// another.
HWY_INLINE double Total(const Lanes& lanes, const double* tail) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (int i = 0; i < kLanes; ++i) x[i] += tail[i];
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  return x[0];
}

HWY_INLINE double Smallest(const Lanes& lanes, double other) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (const double value : x) other = std::min(other, value);
  return other;
}

HWY_INLINE double Largest(const Lanes& lanes, double other) {
  double x[kLanes];
  lanes.StoreTo(x);
  for (const double value : x) other = std::max(other, value);
  return other;
}

template <class D>
HWY_INLINE double SmallestOf(D d, hn::Vec<D> v, double other) {
  hn::TFromD<D> x[hn::MaxLanes(D())];
  hn::StoreU(v, d, x);
  for (const auto value : x) other = std::min(other, static_cast<double>(value));
  return other;
}

template <class D>
HWY_INLINE double LargestOf(D d, hn::Vec<D> v, double other) {
  hn::TFromD<D> x[hn::MaxLanes(D())];
  hn::StoreU(v, d, x);
  for (const auto value : x) other = std::max(other, static_cast<double>(value));
  return other;
}

// A sign-magnitude pattern as a place on the number line: -0 and +0 are both 0.
template <class Int>
HWY_INLINE Int Place(Int bits) {
  constexpr Int kMagnitude = std::numeric_limits<Int>::max();
  return static_cast<Int>(bits < 0 ? -(bits & kMagnitude) : bits);
}

template <class D>
HWY_INLINE hn::Vec<D> Places(D d, hn::Vec<D> bits) {
  using Int = hn::TFromD<D>;
  const auto sign = hn::BroadcastSignBit(bits);
  const auto magnitude = hn::And(bits, hn::Set(d, std::numeric_limits<Int>::max()));
  return hn::Sub(hn::Xor(magnitude, sign), sign);
}

template <class UInt>
HWY_INLINE UInt DistanceOne(UInt a, UInt b) {
  using Int = std::make_signed_t<UInt>;
  const Int x = Place(std::bit_cast<Int>(a)), y = Place(std::bit_cast<Int>(b));
  return static_cast<UInt>(static_cast<UInt>(std::max(x, y)) - static_cast<UInt>(std::min(x, y)));
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
