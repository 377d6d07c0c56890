#include "assay/compat/msit/metric/tile_errors.h"
#include "assay/metric/tile_kernels.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/compat/msit/metric/tile_errors.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {
constexpr float kEpsilon = 0x1p-23f;  // FLT_EPSILON

// One element, behind the last full group.
HWY_INLINE void MsitOne(float m, float g, double& ratios, double& sizes, MsitErrors& out) {
  if (!(std::abs(g) > kEpsilon)) return;
  const auto ratio = static_cast<double>(std::abs(m / g - 1.0f)), size = static_cast<double>(std::abs(m - g));
  if (ratio > out.max_ratio) out.max_ratio = ratio;
  if (size > out.max_size) out.max_size = size;
  ratios += ratio;
  sizes += size;
}

// A double that f32 cannot hold has become infinite; an infinity against another is NaN, which is larger than
// nothing but makes the sum.
HWY_INLINE VF Larger(VF value, VF than) { return hn::IfThenElse(hn::Gt(value, than), value, than); }

void MsitF32(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n, MsitErrors& out) {
  const DF d;
  const VF one = hn::Set(d, 1.0f), epsilon = hn::Set(d, kEpsilon);
  VF max_ratio = hn::Zero(d), max_size = hn::Zero(d);
  Lanes ratios(0), sizes(0);
  HWY_ALIGN float ratio_of[kGroup];
  HWY_ALIGN float size_of[kGroup];
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    for (int t = 0; t < kTurnsF; ++t) {
      const VF m = hn::LoadU(d, a + i + t * kNF), g = hn::LoadU(d, b + i + t * kNF);
      const auto counts = hn::Gt(hn::Abs(g), epsilon);
      const VF quotient = hn::Div(m, hn::IfThenElse(counts, g, one));
      const VF ratio = hn::IfThenElseZero(counts, hn::Abs(hn::Sub(quotient, one)));
      const VF size = hn::IfThenElseZero(counts, hn::Abs(hn::Sub(m, g)));
      max_ratio = Larger(ratio, max_ratio);
      max_size = Larger(size, max_size);
      hn::Store(ratio, d, ratio_of + t * kNF);
      hn::Store(size, d, size_of + t * kNF);
    }
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      ratios.v[v] = hn::Add(ratios.v[v], Widen(ratio_of + t * kN));
      sizes.v[v] = hn::Add(sizes.v[v], Widen(size_of + t * kN));
    }
  }
  out.max_ratio = LargestOf(d, max_ratio, 0);
  out.max_size = LargestOf(d, max_size, 0);
  double of_ratios[kLanes], of_sizes[kLanes];
  ratios.StoreTo(of_ratios);
  sizes.StoreTo(of_sizes);
  for (; i < n; ++i) MsitOne(a[i], b[i], of_ratios[i % kLanes], of_sizes[i % kLanes], out);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    out.sum_ratio += of_ratios[lane];
    out.sum_size += of_sizes[lane];
  }
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

HWY_EXPORT(MsitF32);

MsitErrors msit_errors(const float* a, const float* b, int64_t n) {
  MsitErrors out;
  HWY_DYNAMIC_DISPATCH(MsitF32)(a, b, n, out);
  return out;
}
MsitErrors msit_errors(const double* a, const double* b, int64_t n) {
  alignas(64) float narrow_a[kTile], narrow_b[kTile];
  for (int64_t i = 0; i < n; ++i) {
    narrow_a[i] = static_cast<float>(a[i]);
    narrow_b[i] = static_cast<float>(b[i]);
  }
  return msit_errors(narrow_a, narrow_b, n);
}

}  // namespace assay::tile
#endif
