// The weights of one row of attention, on vectors. Every CPU gives the same bits.
#pragma once

#include <cstdint>

namespace assay::kernel {

inline constexpr int64_t kBoundKeys = 64;  // keys whose values are bounded together where errors add up
// Where they are independent: every 4th of these keys. Smaller sets have a smaller largest value, and cost a
// product as large as that of the weights and the values, divided by their size.
inline constexpr int64_t kSpreadSets = 4;
// So many keys are bounded one by one, for two more such products.
inline constexpr int64_t kKeysOneByOne = 256;

// Which keys share a value in the bound of a row: those of a group where errors add up, those of a set where
// they are independent. Few keys share none.
struct KeySets {
  explicit KeySets(int64_t keys)
      : is_one_by_one(keys <= kKeysOneByOne),
        groups(is_one_by_one ? keys : (keys + kBoundKeys - 1) / kBoundKeys),
        sets(is_one_by_one ? keys : groups * kSpreadSets) {}

  int64_t group_of(int64_t key) const { return is_one_by_one ? key : key / kBoundKeys; }
  int64_t set_of(int64_t key) const {
    return is_one_by_one ? key : key / kBoundKeys * kSpreadSets + key % kSpreadSets;
  }

  bool is_one_by_one;
  int64_t groups, sets;
};

// What the bound of a row's weights is made of: docs/operators/products.md.
template <class T>
struct WeightBounds {
  T fixed;      // off by this, whatever the score
  T per_score;  // and by this of each score
  // Independent roundings, in squares of their unit: of each weight, of each score (so many, of its size),
  // and of its distance to the largest.
  T of_weights, of_scores, of_distances;
  double mask_scale;   // a mask counts this much
  const T* of_inputs;  // what rounded inputs do to the score of each key, in such squares too, or null
};

void scale_scores(float* scores, int64_t n, float factor);
float largest_score(const float* scores, int64_t n);  // NaN are passed over

// Scores become weights e^(s - largest). Returns their sum; `linear` gets, for each kBoundKeys keys, what
// errors of weights weigh that may add up; `random`, for each set of each kBoundKeys, those that are
// independent.
// `mask` is what was added to the scores, or null.
double weigh_scores(float* scores, int64_t n, float largest, const double* mask,
                    const WeightBounds<float>& bounds, float* linear, float* random);

}  // namespace assay::kernel
