#include "assay/golden/norms.h"

#include "assay/golden/families.h"

#include <cmath>

namespace assay {

Result<NormParams> NormParams::of(const GoldenCall& call) {
  constexpr int64_t kLayerTypes[] = {1, 2, 3};
  constexpr std::string_view kObjects[] = {"normParam.", "preNormParam.", "postNormParam."};
  constexpr int64_t kQuantTypes[] = {-1, 0, 2}, kDynamicTypes[] = {0, 1, 2};  // -1: as others write none
  NormParams norm;
  norm.params_ = call.params;
  ASSAY_TRY(norm.layer_type_, call.params.choice({"layerType"}, kLayerTypes));
  norm.prefix_ = kObjects[norm.layer_type_ - 1];
  ASSAY_TRY(norm.epsilon_, call.params.epsilon_or({norm.prefix_ + "epsilon"}, 1e-5));
  ASSAY_TRY(const int64_t quant_type, norm.choice_or("quantType", 0, kQuantTypes));
  norm.is_quantized_ = quant_type == 2;
  if (!norm.is_quantized_ || norm.layer_type_ != 1) return norm;
  ASSAY_TRY(norm.dynamic_type_, norm.choice_or("dynamicQuantType", 0, kDynamicTypes));
  return norm;
}

Result<int64_t> NormParams::integer_or(std::string_view key, int64_t otherwise) const {
  const std::string full = prefix_ + std::string(key);
  return params_.integer_or({full}, otherwise);
}

Result<int64_t> NormParams::choice_or(std::string_view key, int64_t otherwise,
                                      std::span<const int64_t> allowed) const {
  const std::string full = prefix_ + std::string(key);
  return params_.choice_or({full}, otherwise, allowed);
}

Result<double> NormParams::real_or(std::string_view key, double otherwise) const {
  const std::string full = prefix_ + std::string(key);
  return params_.real_or({full}, otherwise);
}

Result<bool> NormParams::flag_or(std::string_view key, bool otherwise) const {
  const std::string full = prefix_ + std::string(key);
  return params_.flag_or({full}, otherwise);
}

Result<Rows> rows_of(const GoldenCall& call) {
  const Shape& shape = shape_of(call, 0);
  if (shape.dims.empty()) return fail(ErrorKind::mismatch, "input 0 of {} is a scalar", call.type);
  const int64_t width = shape.dims.back();
  return Rows{width == 0 ? 0 : shape.count() / width, width};
}

Result<BoundedNumbers> sum_of_inputs(const GoldenCall& call, std::span<const size_t> others, double factor) {
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(Numbers first, numbers_of(call, 0));
  BoundedNumbers sum{std::move(first)};
  if (others.empty()) return sum;
  const double u = unit_of_arithmetic(dtype_of(call, 0)), rounded = unit_roundoff(dtype_of(call, 0));
  sum.allowed.resize(sum.value.values.size());
  for (const size_t i : others) {
    ASSAY_TRY_DO(check_same_type(call, i));
    ASSAY_TRY(const Numbers narrow, numbers_of(call, i));
    ASSAY_TRY(const Numbers more, broadcast(narrow, sum.value.shape));
    const double of_term = factor == 1 ? 0 : rounded, of_sum = i == others.back() ? u : rounded;
    in_parallel(more.count(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<size_t>(k);
        const double term = factor * more.values[at];
        sum.value.values[at] += term;
        sum.allowed[at] += allowance(of_term * std::abs(term) + of_sum * std::abs(sum.value.values[at]));
      }
    });
  }
  return sum;
}

double error_of_mean_product(const double* a, const float* errors, int64_t n) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double each = a[i] * static_cast<double>(errors[i]);
    squares += each * each;
  }
  return 3 * std::sqrt(squares) / static_cast<double>(n);
}

Result<std::vector<double>> weight_of(const GoldenCall& call, size_t i, int64_t width,
                                      std::string_view what) {
  ASSAY_TRY(Numbers numbers, numbers_of(call, i));
  if (numbers.count() == width) return std::move(numbers.values);
  return fail(ErrorKind::mismatch, "the {} of {} has shape {}, where {} elements are wanted", what, call.type,
              numbers.shape.text(), width);
}

Result<Expected> quantized_by_quotient(const GoldenCall& call, const BoundedNumbers& y, int beta,
                                       size_t scale, size_t offset, ToInt8 to_int8) {
  const int64_t width = y.value.shape.dims.back();
  ASSAY_TRY(const PerChannel scales, per_channel(call, scale, width, "scale"));
  ASSAY_TRY(const PerChannel offsets, per_channel_or(call, offset, width, "offset", 0));
  PerChannel betas{{0}};
  if (beta >= 0) {
    ASSAY_TRY(betas, per_channel_or(call, static_cast<size_t>(beta), width, "beta", 0));
  }
  const double u = unit_of_arithmetic(dtype_of(call, 0));
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(y.value.shape));
  in_parallel(width == 0 ? 0 : y.value.count() / width, 10 * width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * width; i < end * width; ++i) {
      const int64_t c = i % width;
      const double moved = y.value.values[static_cast<size_t>(i)] + betas[c];
      const double quotient = moved / scales[c], value = quotient + offsets[c];
      const double error = (y.error(i) + u * std::abs(moved)) / std::abs(scales[c]);
      put(out, i, {value, error + 3 * u * std::abs(quotient)});
    }
  });
  return expected_int8(std::move(out), to_int8);
}

namespace {

constexpr GoldenOp kNorms[] = {
    {"LayerNormOperation", layer_norm,
     "layer norm, alone or of a sum, as it is, as int8 by a given scale, as int8 with a scale for each row"},
    {"CohereLayerNormOperation", cohere_layer_norm, "layer norm of each head with its own weight, no bias"},
    {"RmsNormOperation", rms_norm,
     "rms norm, alone or of a sum, as it is, as int8 by a given scale, as int8 with a scale for each row"},
    {"RmsNormBackwardOperation", rms_norm_backward, "the gradients of rms norm to its input and its weight"},
};

}  // namespace

GoldenFamily golden_norms() { return kNorms; }

}  // namespace assay
