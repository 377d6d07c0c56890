#include "assay/golden/int8_attention.h"

#include "assay/golden/bounded.h"
#include "assay/golden/linear.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kMostOfInt8 = 127;
// Half a step, and 2^-5 of one: quotients go through f16, which has steps of 2^-4 from 64 on.
constexpr double kHalfStep = 0.5 + 1.0 / 32;
// Errors between -half_step and half_step have the standard deviation half_step / √3: 6.5 of them where each
// key counts by itself, 5.2 where the largest value of a set stands for all of it.
constexpr double kOneByOne = 3.75, kOfSets = 3;

Result<std::vector<double>> factors_of_heads(const GoldenCall& call, size_t i, int64_t heads,
                                             std::string_view what) {
  ASSAY_TRY_DO(check_real(call, i));
  ASSAY_TRY(Numbers numbers, numbers_of(call, i));
  if (numbers.count() != heads)
    return fail(ErrorKind::mismatch, "{} has {} elements for {} heads", what, numbers.count(), heads);
  return std::move(numbers.values);
}

}  // namespace

Result<DType> type_of_int8_attention(const GoldenCall& call) {
  ASSAY_TRY(const int64_t acl, call.params.integer_or({"outDataType"}, -1));
  ASSAY_TRY(std::optional<DType> dtype, dtype_of_acl(acl, "outDataType"));
  if (!dtype && !call.out.empty()) dtype = call.out[0].dtype;
  if (!dtype || (*dtype != DType::f16 && *dtype != DType::bf16))
    return fail(ErrorKind::bad_argument, "outDataType does not say what int8 is scaled to");
  return *dtype;
}

Result<Int8Heads> int8_heads(const GoldenCall& call, const Int8Places& places, WeightSteps kind,
                             int64_t heads) {
  Int8Heads out;
  ASSAY_TRY(out.of_scores, factors_of_heads(call, places.of_scores, heads, "the factor of scores"));
  ASSAY_TRY(out.of_values, factors_of_heads(call, places.of_values, heads, "the factor of values"));
  std::vector<double> steps(static_cast<size_t>(heads), 1 / kMostOfInt8);
  if (kind != WeightSteps::by_block) {
    ASSAY_TRY(steps, factors_of_heads(call, *places.steps, heads, "pScale"));
    for (size_t h = 0; h < steps.size(); ++h) {
      const double given = steps[h];
      if (!(given > 0) || !std::isfinite(given))
        return fail(ErrorKind::mismatch, "pScale of head {} is {}", h, given);
      if (kind == WeightSteps::multiplied) {
        out.of_values[h] *= given;
        steps[h] = 1 / given;
      }
    }
  }
  for (const double step : steps) {
    out.half_steps.push_back(kHalfStep * step);
    // By blocks, the largest is 127 whatever it weighs.
    out.most.push_back(kind == WeightSteps::by_block ? 1 : kMostOfInt8 * step);
  }
  return out;
}

template <class T>
Int8Row bound_int8_weights(std::span<const T> weights, double half_step, double most,
                           const kernel::KeySets& sets, T* linear, T* kept) {
  Int8Row row{half_step, 0, sets.is_one_by_one ? kOneByOne : kOfSets};
  // Relative to the largest so far, a weight may have been 1 when it was cut off.
  const double cut = std::max(0.0, 1 - most);
  std::fill_n(kept, sets.sets, T{0});
  for (int64_t j = 0; j < std::ssize(weights); ++j) {
    const auto weight = static_cast<double>(weights[static_cast<size_t>(j)]);
    double lost = cut * weight;
    if (weight >= 2 * half_step) {
      ++row.kept;
      kept[sets.set_of(j)] += 1;
    } else {
      lost += std::min(weight, half_step);
    }
    linear[sets.group_of(j)] += static_cast<T>(lost);
  }
  return row;
}

double int8_allowance(const Int8Row& row, double sizes, double squares, double sum, double result) {
  const double worst = row.half_step * sizes / sum;
  const double random = row.of_random * row.half_step * std::sqrt(squares) / sum;
  const double alike = row.half_step * row.kept / sum * std::abs(result);  // equal weights are rounded alike
  return std::min(worst, random + alike);
}

template Int8Row bound_int8_weights(std::span<const float>, double, double, const kernel::KeySets&, float*,
                                    float*);
template Int8Row bound_int8_weights(std::span<const double>, double, double, const kernel::KeySets&, double*,
                                    double*);

}  // namespace assay
