// The weights of one row of attention, on vectors. Every CPU gives the same bits.
#pragma once

#include <cstdint>

namespace assay::kernel {

inline constexpr int64_t kBoundKeys = 64;  // keys whose values are bounded together

// What the bound of a row's weights is made of: docs/operators/products.md.
template <class T>
struct WeightBounds {
  T fixed;            // off by this, whatever the score
  T per_score;        // and by this of each score
  T of_inputs;        // spread of rounded inputs, in squares
  T of_scores;        // 1 where scores may have been rounded, else 0
  double mask_scale;  // a mask counts this much
};

void scale_scores(float* scores, int64_t n, float factor);
float largest_score(const float* scores, int64_t n);  // NaN are passed over

// Scores become weights e^(s - largest). Returns their sum; `linear` and `random` get, for each group of
// kBoundKeys keys, what errors of weights weigh: those that may add up, and those that are independent.
// `mask` is what was added to the scores, or null.
double weigh_scores(float* scores, int64_t n, float largest, const double* mask,
                    const WeightBounds<float>& bounds, float* linear, float* random);

}  // namespace assay::kernel
