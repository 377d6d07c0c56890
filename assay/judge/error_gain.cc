#include "assay/judge/error_gain.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Of functions that nothing else is known of: honest operators hand on 0.5 to 2.2 times the error they are
// given (docs/rules.md).
constexpr double kAnyFunction = 2.5;
// Scores are products, and softmax makes of their absolute errors relative ones.
constexpr double kAttention = 4;
// Differences of what was just made equal in size: the mean is taken off a gradient.
constexpr double kCentred = 6;
constexpr double kPower = 3.5;      // the exponent is three at most, where models use one
constexpr double kLipschitz = 1.2;  // gelu and silu are steeper than 1 in places

double squared(double x) { return x * x; }

bool is_finer(DType a, DType b) { return is_real(a) && info(a).mantissa_bits > info(b).mantissa_bits; }

bool says(const Operation& operation, std::string_view word) {
  return operation.name.find(word) != std::string_view::npos;
}

double ratio(double of, double to) { return to > 0 ? of / to : 0; }

// Squared relative error, weighed by how much of the output the input is.
double weighed(const GivenError& input, const GivenError& output) {
  return squared(input.relative * ratio(input.rms, output.rms));
}

// How much smaller a product is than terms that do not cancel would make it: errors do not cancel.
double cancellation(const GivenError& a, const GivenError& b, const GivenError& output, bool is_convolution) {
  if (!(a.rms > 0) || !(b.rms > 0) || !(output.rms > 0) || output.count <= 0) return 1;
  const double length = is_convolution
                            ? b.count / std::max(1.0, b.first_extent)
                            : std::sqrt(a.count * b.count / output.count / std::max(1.0, output.batches));
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
    factor =
        cancellation(*matrices[0], *matrices[1], output, says(operation, "conv") && !operation.is_backward);
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

double of_function(const Operation& operation, std::span<const GivenError> given,
                   std::span<const GivenError> used, const GivenError& output) {
  if (operation.is_backward) {
    // A function with a bend hands on nothing, or all, where rounding takes an element to the other side.
    double flips = 0;
    if (says(operation, "relu") || says(operation, "pool") || says(operation, "abs") ||
        says(operation, "clamp"))
      for (const GivenError& input : used) flips = std::max(flips, input.relative);
    return std::sqrt(squared(of_any(kAnyFunction, given, used)) + flips);
  }
  double sum = 0;
  for (const GivenError& input : given)
    sum += says(operation, "glu") ? squared(kAnyFunction * input.relative) : weighed(input, output);
  return kLipschitz * std::sqrt(sum);
}

}  // namespace

double GivenError::norm() const { return rms * std::sqrt(count); }

double inherited_error(const Operation& operation, std::span<const GivenError> given,
                       std::span<const GivenError> used, const GivenError& output) {
  double sum = 0;
  switch (operation.kind) {
    case OpKind::product:
      return of_product(operation, given, used, output);
    case OpKind::attention:
      return of_any(kAttention, given, used);
    case OpKind::norm:
    case OpKind::layer_norm:
      return of_any(operation.is_backward ? kCentred : kAnyFunction, given, used);
    case OpKind::softmax:
      if (operation.is_backward) return of_any(kCentred, given, used);
      for (const GivenError& input : given)
        sum += squared(2 * input.relative * input.rms /
                       (says(operation, "log") ? std::max(output.rms, 1e-30) : 1));
      return std::sqrt(sum);
    case OpKind::activation:
      return of_function(operation, given, used, output);
    case OpKind::sum:
      if (operation.is_backward) break;
      for (const GivenError& input : given) sum += weighed(input, output);
      return std::sqrt(sum);
    case OpKind::gather:
    case OpKind::split:
    case OpKind::concat:
    case OpKind::view:
    case OpKind::layout:
    case OpKind::cast:
      // The same elements: no more of the error than there was.
      for (const GivenError& input : given) {
        const double most = std::max(ratio(input.rms, output.rms), ratio(input.norm(), output.norm()));
        sum += squared(input.relative * (operation.kind == OpKind::concat ? ratio(input.norm(), output.norm())
                                                                          : std::max(1.0, most)));
      }
      return std::sqrt(sum);
    case OpKind::reduction:
      for (const GivenError& input : given) {
        const double length = std::max(1.0, input.count / std::max(1.0, output.count));
        const double cancelled = ratio(input.rms, output.rms) *
                                 (says(operation, "mean") || says(operation, "pool") ? 1 : std::sqrt(length));
        sum += squared(input.relative * std::max(1.0, cancelled));
      }
      if (operation.is_backward) break;
      return std::sqrt(sum);
    case OpKind::exponential:
      if (operation.is_backward) break;
      for (const GivenError& input : given) sum += squared(2 * input.relative * input.rms);
      return std::sqrt(sum);
    case OpKind::elementwise:
      return of_any(says(operation, "pow")  ? kPower
                    : operation.is_backward ? kAnyFunction
                                            : 1.5,
                    given, used);
    default:
      break;
  }
  double cancelled = kAnyFunction;
  // What was spread over rows comes back added up.
  if (operation.is_backward)
    for (const GivenError& input : given)
      if (input.count > output.count && output.count > 0)
        cancelled = std::max(cancelled, ratio(input.rms, output.rms) * std::sqrt(input.count / output.count));
  return of_any(cancelled, given, used);
}

double inherited_element(const Operation& operation, std::span<const GivenError> given,
                         const GivenError& output) {
  double most = 0, sum = 0;
  for (const GivenError& input : given) {
    most = std::max(most, input.largest);
    sum += input.largest;
  }
  switch (operation.kind) {
    case OpKind::gather:
    case OpKind::split:
    case OpKind::concat:
    case OpKind::view:
    case OpKind::layout:
    case OpKind::cast:
      return most;
    case OpKind::sum:
      return operation.is_backward ? 0 : sum;
    case OpKind::activation:
      return operation.is_backward || says(operation, "glu") ? 0 : kLipschitz * most;
    case OpKind::softmax:
      return operation.is_backward ? 0 : 2 * most * (says(operation, "log") ? 1 : 16 * output.rms);
    default:
      return 0;
  }
}

double own_error(const Operation& operation, std::span<const GivenError> given, DType dtype) {
  const double eps = std::ldexp(1.0, -info(dtype).mantissa_bits);
  const bool sums_in_itself = dtype == DType::f32 || dtype == DType::f64;
  switch (operation.kind) {
    case OpKind::gather:
    case OpKind::split:
    case OpKind::concat:
    case OpKind::view:
    case OpKind::layout:
    case OpKind::cast:
    case OpKind::sum:
    case OpKind::elementwise:
      return sums_in_itself ? 2 * eps : eps / 4;
    case OpKind::product: {
      if (sums_in_itself) return 16 * eps;
      // Operands of a finer type are rounded before they are multiplied (autocast).
      const auto finer =
          std::ranges::count_if(given, [&](const GivenError& input) { return is_finer(input.dtype, dtype); });
      return eps / 4 * std::sqrt(1.0 + static_cast<double>(finer));
    }
    default:
      return sums_in_itself ? 16 * eps : eps / 2;
  }
}

}  // namespace assay
