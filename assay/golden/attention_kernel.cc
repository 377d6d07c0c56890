#include "assay/golden/attention_kernel.h"

#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/golden/attention_kernel.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
constexpr int64_t kNF = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kScoreLanes = 16;  // that sums are taken in, whatever the width of a vector
constexpr int kVecs = static_cast<int>(kScoreLanes / kNF);
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// e^x for x <= 0, within 2 units; 0 where it is no normal number. Nothing is fused.
HWY_INLINE VF ExpOfNegative(VF x) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  constexpr float kTaylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  const VF least = hn::Set(d, -87.0f), magic = hn::Set(d, 12582912.0f);  // 1.5 · 2^23: whole numbers stay
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

struct ScoreLanes {
  VF v[kVecs];
  HWY_INLINE explicit ScoreLanes(float start) {
    for (VF& each : v) each = hn::Set(DF(), start);
  }
  HWY_INLINE void StoreTo(float* to) const {
    for (int i = 0; i < kVecs; ++i) hn::StoreU(v[i], DF(), to + i * kNF);
  }
  HWY_INLINE float Total() const {
    float lanes[kScoreLanes], sum = 0;
    StoreTo(lanes);
    for (const float lane : lanes) sum += lane;
    return sum;
  }
};

void ScaleScores(float* scores, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) scores[i] *= factor;
}

float LargestScore(const float* scores, int64_t n) {
  ScoreLanes largest(kMinusInfinity);
  int64_t i = 0;
  for (; i + kScoreLanes <= n; i += kScoreLanes)
    for (int k = 0; k < kVecs; ++k) {
      const VF each = hn::LoadU(DF(), scores + i + k * kNF);
      largest.v[k] = hn::IfThenElse(hn::Gt(each, largest.v[k]), each, largest.v[k]);
    }
  float lanes[kScoreLanes];
  largest.StoreTo(lanes);
  for (; i < n; ++i) lanes[0] = scores[i] > lanes[0] ? scores[i] : lanes[0];
  return *std::max_element(lanes, lanes + kScoreLanes);
}

// One group; what `added` holds went into the scores.
HWY_INLINE float WeighGroup(float* HWY_RESTRICT scores, const float* HWY_RESTRICT added, float largest,
                            const WeightBounds<float>& bounds, float& linear, float& random) {
  const DF d;
  const VF top = hn::Set(d, largest), zero = hn::Zero(d);
  const VF certain = hn::Set(d, 1 + bounds.of_inputs), of_scores = hn::Set(d, bounds.of_scores);
  ScoreLanes weights(0), sizes(0), spreads(0);
  for (int64_t j = 0; j < kBoundKeys; j += kScoreLanes)
    for (int k = 0; k < kVecs; ++k) {
      const VF s = hn::LoadU(d, scores + j + k * kNF), below = hn::Sub(s, top);
      const VF weight = ExpOfNegative(below);
      const VF unmasked = hn::Sub(s, hn::LoadU(d, added + j + k * kNF));
      // A key that is masked has no weight, and a score that may be infinite.
      const auto has_weight = hn::Gt(weight, zero);
      const VF far = hn::IfThenElseZero(has_weight, below);
      const VF score = hn::IfThenElseZero(has_weight, hn::Max(hn::Abs(s), hn::Abs(unmasked)));
      const VF squares = hn::Add(hn::Mul(hn::Mul(hn::Set(d, 4.0f), score), score), hn::Mul(far, far));
      weights.v[k] = hn::Add(weights.v[k], weight);
      sizes.v[k] = hn::Add(sizes.v[k], hn::Mul(weight, score));
      spreads.v[k] = hn::Add(spreads.v[k],
                             hn::Mul(hn::Mul(weight, weight), hn::Add(certain, hn::Mul(of_scores, squares))));
      hn::StoreU(weight, d, scores + j + k * kNF);
    }
  const float sum = weights.Total();
  linear = sum * bounds.fixed + sizes.Total() * bounds.per_score;
  random = spreads.Total();
  return sum;
}

double WeighScores(float* scores, int64_t n, float largest, const double* mask,
                   const WeightBounds<float>& bounds, float* linear, float* random) {
  double sum = 0;
  for (int64_t first = 0, group = 0; first < n; first += kBoundKeys, ++group) {
    const int64_t count = std::min(kBoundKeys, n - first);
    float added[kBoundKeys] = {}, rest[kBoundKeys];
    if (mask != nullptr)
      for (int64_t j = 0; j < count; ++j) added[j] = static_cast<float>(mask[first + j] * bounds.mask_scale);
    float* const here = count == kBoundKeys ? scores + first : rest;
    if (here == rest) {
      std::copy_n(scores + first, count, rest);
      std::fill(rest + count, rest + kBoundKeys, kMinusInfinity);
    }
    sum += static_cast<double>(WeighGroup(here, added, largest, bounds, linear[group], random[group]));
    if (here == rest) std::copy_n(rest, count, scores + first);
  }
  return sum;
}

}  // namespace assay::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::kernel {

HWY_EXPORT(ScaleScores);
HWY_EXPORT(LargestScore);
HWY_EXPORT(WeighScores);

void scale_scores(float* scores, int64_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(ScaleScores)(scores, n, factor);
}
float largest_score(const float* scores, int64_t n) { return HWY_DYNAMIC_DISPATCH(LargestScore)(scores, n); }
double weigh_scores(float* scores, int64_t n, float largest, const double* mask,
                    const WeightBounds<float>& bounds, float* linear, float* random) {
  return HWY_DYNAMIC_DISPATCH(WeighScores)(scores, n, largest, mask, bounds, linear, random);
}

}  // namespace assay::kernel
#endif
