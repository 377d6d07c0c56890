#include "assay/judge/stated_errors.h"

#include "assay/judge/call_name.h"
#include "assay/judge/rule_context.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace assay {
namespace {

// Numbers with as few bits as these are those of many constants.
bool is_plain(double number) {
  constexpr double kFewBits = 4096;
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent) * kFewBits;
  return mantissa == std::floor(mantissa);
}

bool is_stated_real(const Comparison& row) {
  return row.basis == Basis::stated && row.evidence == Evidence::statistics && row.mine.meta &&
         row.golden.meta && is_real(row.mine.meta->dtype) && is_real(row.golden.meta->dtype);
}

// Its sizes; the error is for the caller to say. None where the dump has no norm.
std::optional<GivenError> sized(const Comparison& row) {
  if (!is_stated_real(row)) return std::nullopt;
  const std::optional<double> norm = number_of(row.golden.stated()->norm);
  const std::vector<int64_t>& dims = row.golden.meta->shape.dims;
  GivenError sizes;
  sizes.count = static_cast<double>(row.golden.meta->shape.count());
  if (!norm || !std::isfinite(*norm) || !(sizes.count > 0)) return std::nullopt;
  sizes.rms = *norm / std::sqrt(sizes.count);
  sizes.dimensions = static_cast<int32_t>(dims.size());
  sizes.first_extent = dims.empty() ? 1 : static_cast<double>(dims[0]);
  for (size_t i = 0; i + 2 < dims.size(); ++i) sizes.batches *= static_cast<double>(dims[i]);
  return sizes;
}

// Errors of what is added up are independent: their squares add. In units of the relative error that each
// input has.
double left_after_cancelling(const Operation& operation, std::span<const GivenError> given,
                             const GivenError& output) {
  if (operation.is_backward) {
    // The gradient of what was spread over many places is the sum of theirs.
    const bool adds_up = output.dimensions <= 1 || operation.kind == OpKind::sum;
    double most = 0;
    for (const GivenError& input : given)
      if (adds_up && input.count > output.count) most = std::max(most, input.norm() / output.norm());
    return most;
  }
  if (operation.kind == OpKind::sum) return inherited_error(operation, given, {}, output);
  // Of its two factors only what cancels counts: without that a product is no further off than what it is
  // made of.
  if (operation.kind == OpKind::product)
    return inherited_error(operation, given, {}, output) /
           std::sqrt(static_cast<double>(std::max<size_t>(1, given.size())));
  if (operation.kind != OpKind::reduction) return 0;
  double most = 0;
  for (const GivenError& input : given) {
    const double length = std::max(1.0, input.count / output.count);
    most = std::max(most, input.norm() / output.norm() / (operation.trait == OpTrait::mean ? length : 1));
  }
  return most;
}

}  // namespace

std::optional<uint64_t> key_of_statistics(const Comparison& row) {
  const Stated& stated = *row.mine.stated();
  uint64_t key = static_cast<uint64_t>(row.mine.meta->shape.count());
  double most = 0, least = 0;
  bool is_masked = false;
  for (const Scalar* const each : {&stated.max, &stated.min, &stated.mean, &stated.norm}) {
    const std::optional<double> number = number_of(*each);
    if (!number || std::isnan(*number)) return std::nullopt;
    is_masked |= std::isinf(*number);
    key = key * 0x9e3779b97f4a7c15 + std::bit_cast<uint64_t>(*number);
    most = each == &stated.max ? *number : most;
    least = each == &stated.min ? *number : least;
  }
  // Of scores with a mask the largest tells; of a mask it is 0.
  if (is_masked) return std::isfinite(most) && most != 0 && most != least ? std::optional(key) : std::nullopt;
  if (most != least) return key;
  return row.mine.meta->shape.count() == 1 && !is_plain(most) ? std::optional(key) : std::nullopt;
}

double StatedErrors::known(const Comparison& row) const {
  if (times_.empty() || !is_stated_real(row)) return 0;
  const auto key = key_of_statistics(row);
  const auto found = key ? times_.find(*key) : times_.end();
  return found == times_.end() ? 0 : found->second;
}

// Where a function has a bend, a share of its elements that is as large as the error falls to the other side:
// the root of it in the norm of the gradient, and of all that is computed from that.
void StatedErrors::begin(const NodeResult& node) {
  is_behind_bend_ =
      is_behind_bend_ || (CallName(node.name).is_backward() && trait_of_entry(node.name) == OpTrait::bend);
  if (!is_module_entry(node.name) || kind_of_entry(node.name) != OpKind::product) return;
  const CallName name(node.name);
  if (name.is_backward() || !forward_call_of_gradients(node.name).empty()) return;
  const auto input = std::ranges::find(node.rows, Direction::input, direction_of);
  if (input == node.rows.end()) return;
  if (const auto sizes = sized(*input)) given_.insert_or_assign(name.key(), sizes->rms);
}

// As Ledger::of_bias_gradient has it: the terms of the sum have the size of the gradient of the weight beside
// it, divided by that of what the layer was given; a norm multiplies by numbers of size 1.
double StatedErrors::times_of_bias_gradient(const NodeResult& node, const Comparison& row,
                                            const GivenError& gradient) const {
  const OpKind kind = kind_of_entry(node.name);
  const std::string layer = forward_call_of_gradients(node.name);
  if (gradient.dimensions != 1 || layer.empty()) return 0;
  const auto found = given_.find(CallName(layer).key());
  const double given = is_norm(kind) ? 1 : found != given_.end() ? found->second : 0;
  if (!(given > 0)) return 0;
  for (const Comparison& other : node.rows) {
    const auto beside = &other == &row ? std::nullopt : sized(other);
    if (beside && (is_norm(kind) || beside->dimensions >= 2)) return beside->rms / given / gradient.rms;
  }
  return 0;
}

double StatedErrors::times(const NodeResult& node, const Comparison& row, double tolerance) const {
  const bool is_bent = is_behind_bend_ && tolerance > 0 && CallName(node.name).is_backward();
  const double as_before = std::max({1.0, known(row), is_bent ? 1 / std::sqrt(tolerance) : 0.0});
  const auto output = sized(row);
  if (!output || !(output->rms > 0)) return as_before;
  if (direction_of(row) == Direction::parameter_gradient)
    return std::max(as_before, times_of_bias_gradient(node, row, *output));
  if (direction_of(row) != Direction::output) return as_before;
  const Operation operation{kind_of_entry(node.name), trait_of_entry(node.name),
                            CallName(node.name).is_backward()};
  std::vector<GivenError> given;
  std::vector<GivenError> carrying;
  for (const Comparison& input : node.rows) {
    if (direction_of(input) == Direction::output) continue;
    auto sizes = sized(input);
    if (!sizes) continue;
    sizes->relative = 1;
    given.push_back(*sizes);
    sizes->relative = known(input);
    if (sizes->relative > 0) carrying.push_back(*sizes);
  }
  const double cancelled = left_after_cancelling(operation, given, *output);
  const double carried = carrying.empty() ? 0 : inherited_error(operation, carrying, {}, *output);
  return std::max(as_before, std::hypot(cancelled, carried));
}

void StatedErrors::remember(const Comparison& row, double times) {
  if (times <= 1 || !is_stated_real(row)) return;
  if (const auto key = key_of_statistics(row)) {
    double& noted = times_[*key];
    noted = std::max(noted, times);
  }
}

}  // namespace assay
