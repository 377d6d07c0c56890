// Attention of int8 queries to int8 keys, whose weights kernels round to int8 too (quantType 2 and 3): what
// they multiply by, and what that rounding may do.
#pragma once

#include "assay/golden/attention_kernel.h"
#include "assay/golden/numbers.h"

#include <optional>
#include <span>
#include <vector>

namespace assay {

// Of each head of queries.
struct Int8Heads {
  std::vector<double> of_scores, of_values;  // factors on sums of int8
  // A weight, the largest being 1, is off by this at most; what int8 cannot hold is the largest that it can.
  std::vector<double> half_steps, most;
};

// How a kernel makes int8 of a weight.
enum class WeightSteps : uint8_t {
  by_block,    // a step is 1/127 of the largest of a block of keys
  divided,     // by a scale that is given, and multiplied by it afterwards
  multiplied,  // by a scale that is given; the factor of the values undoes it
};

// Where the inputs are; `steps`: of scales that are given.
struct Int8Places {
  size_t of_scores = 0, of_values = 0;
  std::optional<size_t> steps = {};
};
Result<Int8Heads> int8_heads(const GoldenCall& call, const Int8Places& places, WeightSteps kind,
                             int64_t heads);

// The type that outDataType names, which such operators need; else the one that was written.
Result<DType> type_of_int8_attention(const GoldenCall& call);

// What rounding may do to the weights of a row. Keys that weigh a step or more are rounded as independently
// as their values are spread: `kept` counts them, set by set (attention_kernel.h). Lighter ones may all be
// lost, or be doubled: what they weigh goes to `linear`.
struct Int8Row {
  double half_step = 0, kept = 0;
  double of_random = 0;  // half steps in the bound of what is independent
};
template <class T>
Int8Row bound_int8_weights(std::span<const T> weights, double half_step, double most,
                           const kernel::KeySets& sets, T* linear, T* kept);

// `sizes` and `squares`: of the values of the kept keys, added up. In units of those values, weights of sum
// `sum`.
double int8_allowance(const Int8Row& row, double sizes, double squares, double sum, double result);

}  // namespace assay
