#include "assay/metric/tile_sketch.h"

#include "assay/metric/sketch_signs.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/tile_sketch.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

// Lane k of a group has every eighth element, on any CPU.
void SketchPass(const double* HWY_RESTRICT x, int64_t n, uint64_t word, double* HWY_RESTRICT signed_sums,
                SketchSums& out) {
  static_assert(static_cast<int64_t>(kSignGroup) == kLanes);
  const D64 d;
  Lanes sum(0), absolutes(0), squares(0);
  for (int64_t i = 0; i < n; i += kSketchLanes) {
    const uint64_t signs = sketch_chance(word++);
    for (int64_t group = 0; group < kSketchLanes; group += kLanes) {
      const double* const sign = kSketchSigns[signs >> group & 0xff].data();
      for (int v = 0; v < kVecs; ++v) {
        const V64 raw = hn::LoadU(d, x + i + group + v * kN);
        const V64 value = hn::IfThenElseZero(hn::IsFinite(raw), raw);
        double* const lane = signed_sums + group + v * kN;
        hn::StoreU(hn::Add(hn::LoadU(d, lane), hn::Mul(value, hn::LoadU(d, sign + v * kN))), d, lane);
        sum.v[v] = hn::Add(sum.v[v], value);
        absolutes.v[v] = hn::Add(absolutes.v[v], hn::Abs(value));
        squares.v[v] = hn::Add(squares.v[v], hn::Mul(value, value));
      }
    }
  }
  sum.StoreTo(out.sum);
  absolutes.StoreTo(out.absolutes);
  squares.StoreTo(out.squares);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(SketchPass);

SketchSums sketch_sums(const double* x, int64_t n, uint64_t word, double* signed_sums) {
  SketchSums out;
  HWY_DYNAMIC_DISPATCH(SketchPass)(x, n, word, signed_sums, out);
  return out;
}

}  // namespace assay::tile
#endif
