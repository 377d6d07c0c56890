#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_rest.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

HWY_INLINE bool AnyBelow(const float* at, double limit) {
  const DF d;
  const VF bound = hn::Set(d, static_cast<float>(limit));
  auto below = hn::Lt(hn::Abs(hn::LoadU(d, at)), bound);
  for (int t = 1; t < kTurnsF; ++t) below = hn::Or(below, hn::Lt(hn::Abs(hn::LoadU(d, at + t * kNF)), bound));
  return !hn::AllFalse(d, below);
}
HWY_INLINE bool AnyBelow(const double* at, double limit) {
  const D64 d;
  const V64 bound = hn::Set(d, limit);
  auto below = hn::Lt(hn::Abs(hn::LoadU(d, at)), bound);
  for (int t = 1; t < kTurns; ++t) below = hn::Or(below, hn::Lt(hn::Abs(hn::LoadU(d, at + t * kN)), bound));
  return !hn::AllFalse(d, below);
}

// The sums of one limit.
struct RestLanes {
  Lanes dd, bb;
  size_t count = 0;

  HWY_INLINE RestLanes() : dd(0), bb(0) {}
  HWY_INLINE void Add(int v, V64 size, V64 d_squared, V64 b_squared, double limit) {
    const D64 d;
    const auto below = hn::Lt(size, hn::Set(d, limit));
    dd.v[v] = hn::Add(dd.v[v], hn::IfThenElseZero(below, d_squared));
    bb.v[v] = hn::Add(bb.v[v], hn::IfThenElseZero(below, b_squared));
    count += hn::CountTrue(d, below);
  }
};

// Adds the elements from `first` on, and then the lanes one after another.
template <class T>
HWY_INLINE Rest TotalRest(const RestLanes& lanes, const T* a, const T* b, int64_t first, int64_t n,
                          double limit) {
  double dd[kLanes], bb[kLanes];
  lanes.dd.StoreTo(dd);
  lanes.bb.StoreTo(bb);
  Rest out;
  out.count = static_cast<int64_t>(lanes.count);
  for (int64_t i = first; i < n; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (!(std::abs(y) < limit)) continue;
    dd[i % kLanes] += (x - y) * (x - y);
    bb[i % kLanes] += y * y;
    ++out.count;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    out.dd += dd[lane];
    out.bb += bb[lane];
  }
  return out;
}

// Groups without an element below the last limit are most of a tensor that is large everywhere.
template <int kLimits, class T>
HWY_INLINE void RestPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n, const double* limits,
                         Rest* out) {
  RestLanes lanes[kLimits];
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    if (!AnyBelow(b + i, limits[kLimits - 1])) continue;
    for (int t = 0; t < kTurns; ++t) {
      const V64 x = Widen(a + i + t * kN), y = Widen(b + i + t * kN);
      const V64 d = hn::Sub(x, y);
      const V64 size = hn::Abs(y), d_squared = hn::Mul(d, d), b_squared = hn::Mul(y, y);
      for (int k = 0; k < kLimits; ++k) lanes[k].Add(t % kVecs, size, d_squared, b_squared, limits[k]);
    }
  }
  for (int k = 0; k < kLimits; ++k) out[k] = TotalRest(lanes[k], a, b, i, n, limits[k]);
}

void OneRestF32(const float* a, const float* b, int64_t n, const double* limits, Rest* out) {
  RestPass<1>(a, b, n, limits, out);
}
void RestsF32(const float* a, const float* b, int64_t n, const double* limits, Rest* out) {
  RestPass<2>(a, b, n, limits, out);
}
void OneRestF64(const double* a, const double* b, int64_t n, const double* limits, Rest* out) {
  RestPass<1>(a, b, n, limits, out);
}
void RestsF64(const double* a, const double* b, int64_t n, const double* limits, Rest* out) {
  RestPass<2>(a, b, n, limits, out);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(OneRestF32);
HWY_EXPORT(RestsF32);
HWY_EXPORT(OneRestF64);
HWY_EXPORT(RestsF64);

Rest rest(const float* a, const float* b, int64_t n, double limit) {
  Rest out;
  HWY_DYNAMIC_DISPATCH(OneRestF32)(a, b, n, &limit, &out);
  return out;
}
std::array<Rest, 2> rest(const float* a, const float* b, int64_t n, const std::array<double, 2>& limits) {
  std::array<Rest, 2> out;
  HWY_DYNAMIC_DISPATCH(RestsF32)(a, b, n, limits.data(), out.data());
  return out;
}
Rest rest(const double* a, const double* b, int64_t n, double limit) {
  Rest out;
  HWY_DYNAMIC_DISPATCH(OneRestF64)(a, b, n, &limit, &out);
  return out;
}
std::array<Rest, 2> rest(const double* a, const double* b, int64_t n, const std::array<double, 2>& limits) {
  std::array<Rest, 2> out;
  HWY_DYNAMIC_DISPATCH(RestsF64)(a, b, n, limits.data(), out.data());
  return out;
}

}  // namespace assay::tile
#endif
