#include "assay/judge/error_gain.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay {
namespace {

// Of functions that nothing else is known of: honest operators hand on 0.5 to 2.2 times the error they are
// given (docs/rules.md).
constexpr double kAnyFunction = 2.5;
// Differences of what was just made equal in size: the mean is taken off a gradient.
constexpr double kCentred = 6;
constexpr double kFunctionSteps = 2, kSumSteps = 16;  // of f32 and f64
constexpr double kOfScores = 2;  // of all in a row together: that of the element, and that of the mean
constexpr double kPeak = 16;     // a probability may be as many times the typical one
constexpr double kOfFactors = 1.5;
constexpr double kPower = 3.5;      // the exponent is three at most, where models use one
constexpr double kLipschitz = 1.2;  // gelu and silu are steeper than 1 in places

double squared(double x) { return x * x; }

bool is_finer(DType a, DType b) { return is_real(a) && info(a).mantissa_bits > info(b).mantissa_bits; }

// The same elements, and nothing computed: no more of the error than there was.
bool keeps_elements(OpKind kind) {
  return kind == OpKind::gather || kind == OpKind::split || kind == OpKind::concat || hands_on(kind) ||
         kind == OpKind::cast;
}

double ratio(double of, double to) { return to > 0 ? of / to : 0; }

// Squared relative error, weighed by how much of the output the input is.
double weighed(const GivenError& input, const GivenError& output) {
  return squared(input.relative * ratio(input.rms, output.rms));
}

// Of the sums that a product is made of.
double length_of_sums(const GivenError& a, const GivenError& b, const GivenError& output,
                      bool is_convolution) {
  if (output.count <= 0) return 1;
  return is_convolution ? b.count / std::max(1.0, b.first_extent)
                        : std::sqrt(a.count * b.count / output.count / std::max(1.0, output.batches));
}

// How much smaller a product is than terms that do not cancel would make it: errors do not cancel.
double cancellation(const GivenError& a, const GivenError& b, const GivenError& output, bool is_convolution) {
  if (!(a.rms > 0) || !(b.rms > 0) || !(output.rms > 0) || output.count <= 0) return 1;
  const double length = length_of_sums(a, b, output, is_convolution);
  return std::max(1.0, a.rms * b.rms * std::sqrt(length) / output.rms);
}

double of_product(const Operation& operation, std::span<const GivenError> given,
                  std::span<const GivenError> used, const GivenError& output) {
  std::vector<const GivenError*> matrices;
  for (const GivenError& input : given)
    if (input.dimensions >= 2) matrices.push_back(&input);
  if (operation.is_backward) {
    // The gradient of one operand is a product of what came from above and the other one.
    const GivenError* other = nullptr;
    for (const GivenError& input : used)
      if (input.dimensions >= 2 && (other == nullptr || other->count == output.count)) other = &input;
    if (other != nullptr) matrices.push_back(other);
  }
  double factor = 1;
  if (matrices.size() >= 2)
    factor = cancellation(*matrices[0], *matrices[1], output,
                          operation.trait == OpTrait::convolution && !operation.is_backward);
  double sum = 0;
  for (const GivenError& input : given)
    sum += input.dimensions >= 2 ? squared(factor * input.relative) : weighed(input, output);
  for (const GivenError& input : used) sum += squared(factor * input.relative);
  return std::sqrt(sum);
}

double of_any(double gain, std::span<const GivenError> given, std::span<const GivenError> used) {
  double sum = 0;
  for (const GivenError& input : given) sum += squared(gain * input.relative);
  for (const GivenError& input : used) sum += squared(gain * input.relative);
  return std::sqrt(sum);
}

// A function without a jump hands on absolute errors as they are, or smaller.
double of_activation(const Operation& operation, std::span<const GivenError> given,
                     const GivenError& output) {
  if (operation.trait == OpTrait::gate) return of_any(kAnyFunction, given, {});
  double sum = 0;
  for (const GivenError& input : given) sum += weighed(input, output);
  return kLipschitz * std::sqrt(sum);
}

double of_softmax(const Operation& operation, std::span<const GivenError> given, const GivenError& output) {
  const double size = operation.trait == OpTrait::logarithm ? std::max(output.rms, 1e-30) : 1;
  double sum = 0;
  for (const GivenError& input : given) sum += squared(kOfScores * input.relative * input.rms / size);
  return std::sqrt(sum);
}

double of_same_elements(const Operation& operation, std::span<const GivenError> given,
                        const GivenError& output) {
  double sum = 0;
  for (const GivenError& input : given) {
    const double share = ratio(input.norm(), output.norm());
    const double most = std::max({1.0, ratio(input.rms, output.rms), share});
    sum += squared(input.relative * (operation.kind == OpKind::concat ? share : most));
  }
  return std::sqrt(sum);
}

double of_sum(std::span<const GivenError> given, const GivenError& output) {
  double sum = 0;
  for (const GivenError& input : given) sum += weighed(input, output);
  return std::sqrt(sum);
}

double of_reduction(const Operation& operation, std::span<const GivenError> given, const GivenError& output) {
  double sum = 0;
  for (const GivenError& input : given) {
    const double length = std::max(1.0, input.count / std::max(1.0, output.count));
    const double cancelled =
        ratio(input.rms, output.rms) * (operation.trait == OpTrait::mean ? 1 : std::sqrt(length));
    sum += squared(input.relative * std::max(1.0, cancelled));
  }
  return std::sqrt(sum);
}

double backward(const Operation& operation, std::span<const GivenError> given,
                std::span<const GivenError> used, const GivenError& output) {
  // A function with a bend hands on nothing, or all, where rounding takes an element to the other side.
  double flips = 0;
  if (operation.trait == OpTrait::bend)
    for (const GivenError& input : used) flips = std::max(flips, input.relative);
  if (operation.kind == OpKind::product) return of_product(operation, given, used, output);
  if (is_norm(operation.kind) || operation.kind == OpKind::softmax) return of_any(kCentred, given, used);
  if (keeps_elements(operation.kind)) return of_same_elements(operation, given, output);
  double gain = operation.trait == OpTrait::power ? kPower : kAnyFunction;
  // What was spread over rows comes back added up.
  for (const GivenError& input : given)
    if (input.count > output.count && output.count > 0)
      gain = std::max(gain, ratio(input.rms, output.rms) * std::sqrt(input.count / output.count));
  return std::sqrt(squared(of_any(gain, given, used)) + flips);
}

// Errors of a sum in its own type grow with the root of its length, in these steps of the type.
double longest_sum(const Operation& operation, std::span<const GivenError> given, const GivenError& output) {
  double length = 1;
  if (operation.kind == OpKind::product && given.size() >= 2)
    length = length_of_sums(given[0], given[1], output, operation.trait == OpTrait::convolution);
  else if (operation.kind == OpKind::reduction && !given.empty())
    length = given[0].count / std::max(1.0, output.count);
  return std::sqrt(length) / 2;
}

}  // namespace

double GivenError::norm() const { return rms * std::sqrt(count); }

double inherited_error(const Operation& operation, std::span<const GivenError> given,
                       std::span<const GivenError> used, const GivenError& output) {
  if (operation.is_backward) return backward(operation, given, used, output);
  if (keeps_elements(operation.kind)) return of_same_elements(operation, given, output);
  double sum = 0;
  switch (operation.kind) {
    case OpKind::product:
      return of_product(operation, given, {}, output);
    case OpKind::softmax:
      return of_softmax(operation, given, output);
    case OpKind::activation:
      return of_activation(operation, given, output);
    case OpKind::sum:
      return of_sum(given, output);
    case OpKind::reduction:
      return of_reduction(operation, given, output);
    case OpKind::exponential:
      for (const GivenError& input : given) sum += squared(kOfScores * input.relative * input.rms);
      return std::sqrt(sum);
    case OpKind::rope:
      return of_any(kOfFactors, given, {});
    case OpKind::elementwise:
      return of_any(operation.trait == OpTrait::power ? kPower : kOfFactors, given, {});
    default:
      return of_any(kAnyFunction, given, {});
  }
}

double estimate_without_size(const Operation& operation, std::span<const GivenError> given) {
  // What only moves or turns elements gives each of its outputs one of its inputs.
  if (!keeps_elements(operation.kind) && operation.kind != OpKind::rope)
    return of_any(multiplies_matrices(operation.kind) || operation.kind == OpKind::sum ? 1 : kOfFactors,
                  given, {});
  double most = 0;
  for (const GivenError& input : given) most = std::max(most, input.relative);
  return most;
}

double inherited_element(const Operation& operation, std::span<const GivenError> given,
                         const GivenError& output) {
  double most = 0, sum = 0;
  for (const GivenError& input : given) {
    most = std::max(most, input.largest);
    sum += input.largest;
  }
  if (keeps_elements(operation.kind)) return most;
  if (operation.is_backward) return 0;
  switch (operation.kind) {
    case OpKind::sum:
      return sum;
    case OpKind::activation:
      return operation.trait == OpTrait::gate ? 0 : kLipschitz * most;
    case OpKind::softmax:
      return kOfScores * most * (operation.trait == OpTrait::logarithm ? 1 : kPeak * output.rms);
    default:
      return 0;
  }
}

double own_error(const Operation& operation, std::span<const GivenError> given, const GivenError& output,
                 DType dtype) {
  const double eps = std::ldexp(1.0, -info(dtype).mantissa_bits);
  const bool sums_in_itself = dtype == DType::f32 || dtype == DType::f64;
  if (keeps_elements(operation.kind)) return sums_in_itself ? kFunctionSteps * eps : eps / 4;
  switch (operation.kind) {
    case OpKind::sum:
    case OpKind::elementwise:
      return sums_in_itself ? kFunctionSteps * eps : eps / 4;
    case OpKind::product: {
      if (sums_in_itself) return std::max(kSumSteps, longest_sum(operation, given, output)) * eps;
      // Operands of a finer type are rounded before they are multiplied (autocast).
      const auto finer =
          std::ranges::count_if(given, [&](const GivenError& input) { return is_finer(input.dtype, dtype); });
      return eps / 4 * std::sqrt(1.0 + static_cast<double>(finer));
    }
    default:
      return sums_in_itself ? std::max(kSumSteps, longest_sum(operation, given, output)) * eps : eps / 2;
  }
}

}  // namespace assay
