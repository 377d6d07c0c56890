#include "assay/golden/attention_kernel.h"

#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/golden/attention_kernel.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/golden/functions_f32-inl.h"

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {

static_assert(kLanesF == 4 * kSpreadSets);

void ScaleScores(float* scores, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) scores[i] *= factor;
}

float LargestScore(const float* scores, int64_t n) {
  LanesF largest(kMinusInfinity);
  int64_t i = 0;
  for (; i + kLanesF <= n; i += kLanesF)
    for (int k = 0; k < kVecsF; ++k) {
      const VF each = hn::LoadU(DF(), scores + i + k * kNF);
      largest.v[k] = hn::IfThenElse(hn::Gt(each, largest.v[k]), each, largest.v[k]);
    }
  float lanes[kLanesF];
  largest.StoreTo(lanes);
  for (; i < n; ++i) lanes[0] = scores[i] > lanes[0] ? scores[i] : lanes[0];
  return *std::max_element(lanes, lanes + kLanesF);
}

// One group; what `added` holds went into the scores.
HWY_INLINE float WeighGroup(float* HWY_RESTRICT scores, const float* HWY_RESTRICT added,
                            const float* HWY_RESTRICT of_inputs, float largest,
                            const WeightBounds<float>& bounds, float& linear, float* HWY_RESTRICT random) {
  const DF d;
  const VF top = hn::Set(d, largest), zero = hn::Zero(d);
  const VF certain = hn::Set(d, bounds.of_weights), of_scores = hn::Set(d, bounds.of_scores),
           of_distances = hn::Set(d, bounds.of_distances);
  LanesF weights(0), sizes(0), spreads(0);
  for (int64_t j = 0; j < kBoundKeys; j += kLanesF)
    for (int k = 0; k < kVecsF; ++k) {
      const VF s = hn::LoadU(d, scores + j + k * kNF), below = hn::Sub(s, top);
      const VF weight = ExpOfNegative(below);
      const VF unmasked = hn::Sub(s, hn::LoadU(d, added + j + k * kNF));
      // A key that is masked has no weight, and a score that may be infinite.
      const auto has_weight = hn::Gt(weight, zero);
      const VF far = hn::IfThenElseZero(has_weight, below);
      const VF score = hn::IfThenElseZero(has_weight, hn::Max(hn::Abs(s), hn::Abs(unmasked)));
      const VF squares =
          hn::Add(hn::Mul(of_scores, hn::Mul(score, score)), hn::Mul(of_distances, hn::Mul(far, far)));
      weights.v[k] = hn::Add(weights.v[k], weight);
      sizes.v[k] = hn::Add(sizes.v[k], hn::Mul(weight, score));
      spreads.v[k] = hn::Add(
          spreads.v[k], hn::Mul(hn::Mul(weight, weight),
                                hn::Add(hn::Add(certain, hn::LoadU(d, of_inputs + j + k * kNF)), squares)));
      hn::StoreU(weight, d, scores + j + k * kNF);
    }
  const float sum = weights.Total();
  linear = sum * bounds.fixed + sizes.Total() * bounds.per_score;
  float lanes[kLanesF];
  spreads.StoreTo(lanes);
  for (int64_t i = 0; i < kSpreadSets; ++i)
    random[i] = lanes[i] + lanes[i + kSpreadSets] + (lanes[i + 2 * kSpreadSets] + lanes[i + 3 * kSpreadSets]);
  return sum;
}

double WeighScores(float* scores, int64_t n, float largest, const double* mask,
                   const WeightBounds<float>& bounds, float* linear, float* random) {
  static constexpr float kNothing[kBoundKeys] = {};
  double sum = 0;
  for (int64_t first = 0, group = 0; first < n; first += kBoundKeys, ++group) {
    const int64_t count = std::min(kBoundKeys, n - first);
    float added[kBoundKeys], of_inputs[kBoundKeys], rest[kBoundKeys];
    if (mask != nullptr)
      for (int64_t j = 0; j < kBoundKeys; ++j)
        added[j] = j < count ? static_cast<float>(mask[first + j] * bounds.mask_scale) : 0;
    if (bounds.of_inputs != nullptr)
      for (int64_t j = 0; j < kBoundKeys; ++j) of_inputs[j] = j < count ? bounds.of_inputs[first + j] : 0;
    float* const here = count == kBoundKeys ? scores + first : rest;
    if (here == rest) {
      std::copy_n(scores + first, count, rest);
      std::fill(rest + count, rest + kBoundKeys, kMinusInfinity);
    }
    sum += static_cast<double>(WeighGroup(here, mask == nullptr ? kNothing : added,
                                          bounds.of_inputs == nullptr ? kNothing : of_inputs, largest, bounds,
                                          linear[group], random + group * kSpreadSets));
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
