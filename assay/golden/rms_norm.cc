// Bounds: docs/operators.md, "RmsNormOperation".
#include "assay/golden/norms.h"
#include "assay/golden/streamed.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// How rows are normalised.
struct RmsNorm {
  double epsilon = 0;
  double unit = 0;  // of the arithmetic
  // Rounds each element to this type before it meets its weight, as precisionMode 1 does.
  std::optional<DType> rounds_to = {};
};

// 1 / sqrt(mean of squares + epsilon); the error is relative. A sum of n squares that one adder makes, one
// after the other, is off by a third of u sqrt(n), as a deviation: six of them, halved by the root.
Approx inverse_rms(const double* x, const float* errors, int64_t width, const RmsNorm& norm) {
  const auto n = static_cast<double>(width);
  const double mean = sum_of_products(x, x, width) / n;
  const double given =
      errors == nullptr ? 0 : error_of_mean_product(x, errors, width) / (mean + norm.epsilon);
  return {1 / std::sqrt(mean + norm.epsilon), given + norm.unit * (6 + std::sqrt(n))};
}

// One row of the length of gamma; `given` are the errors that it has, or null. Gives the inverse root.
Approx rms_norm_row(const double* x, const float* given, const std::vector<double>& gamma,
                    const RmsNorm& norm, double* values, double* errors) {
  const int64_t width = std::ssize(gamma);
  const Approx r = inverse_rms(x, given, width, norm);
  const double unit = r.error + 3 * norm.unit;
  if (norm.rounds_to) {
    const std::span<double> all(values, static_cast<size_t>(width)), off(errors, all.size());
    kernel::scale(x, r.value, width, r.error + norm.unit, {values, errors});
    round_numbers(*norm.rounds_to, all, off);
    for (size_t i = 0; i < all.size(); ++i) {
      off[i] = std::abs(gamma[i]) * (off[i] + norm.unit * std::abs(all[i]));
      all[i] *= gamma[i];
    }
  } else {
    kernel::weighted(x, r.value, gamma.data(), width, unit, {values, errors});
  }
  if (given == nullptr) return r;
  for (int64_t i = 0; i < width; ++i)
    errors[i] += std::abs(gamma[static_cast<size_t>(i)]) * r.value * static_cast<double>(given[i]);
  return r;
}

// `inverse` takes the inverse root of each row, where it is wanted.
Result<BoundedNumbers> normalized(const BoundedNumbers& x, const std::vector<double>& gamma,
                                  const RmsNorm& norm, BoundedNumbers* inverse = nullptr) {
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(x.value.shape));
  const int64_t width = std::ssize(gamma);
  in_parallel(width == 0 ? 0 : x.value.count() / width, 12 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> errors(static_cast<size_t>(width));
    for (int64_t row = begin; row < end; ++row) {
      const float* const given = x.allowed.empty() ? nullptr : x.allowed.data() + row * width;
      const Approx r = rms_norm_row(x.value.values.data() + row * width, given, gamma, norm,
                                    out.value.values.data() + row * width, errors.data());
      if (inverse != nullptr) put(*inverse, row, {r.value, r.value * r.error});
      std::ranges::transform(errors, out.allowed.begin() + row * width, allowance);
    }
  });
  return out;
}

// Weights of several dimensions, over all of which the mean is taken; the inverse root is an output.
Result<GoldenOutputs> with_inverse(const GoldenCall& call, const RmsNorm& norm) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  const std::vector<int64_t>& x_dims = shape_of(call, 0).dims;
  const std::vector<int64_t>& dims = shape_of(call, 1).dims;
  if (dims.size() > x_dims.size() || !std::equal(dims.rbegin(), dims.rend(), x_dims.rbegin()))
    return fail(ErrorKind::mismatch, "gamma of shape {} does not fit the input of shape {}",
                shape_of(call, 1).text(), shape_of(call, 0).text());
  ASSAY_TRY(BoundedNumbers x, sum_of_inputs(call, {}, 1));
  ASSAY_TRY(const Numbers gamma, numbers_of(call, 1));
  Shape rows = x.value.shape;
  std::fill(rows.dims.end() - std::ssize(dims), rows.dims.end(), 1);
  ASSAY_TRY(BoundedNumbers inverse, zeros_with_bounds(rows));
  ASSAY_TRY(BoundedNumbers y, normalized(x, gamma.values, norm, &inverse));
  const bool is_wide = !call.out.empty() && call.out[0].dtype == DType::f32;
  GoldenOutputs outs;
  outs.push_back(expected(is_wide ? DType::f32 : dtype_of(call, 0), std::move(y)));
  outs.push_back(expected(DType::f32, std::move(inverse)));
  return outs;
}

// Which inputs are what: those that are added to input 0 come first, then gamma and what follows it.
struct RmsInputs {
  std::vector<size_t> added;
  size_t gamma = 1;
};

Result<RmsInputs> inputs_of(const GoldenCall& call, const NormParams& params) {
  RmsInputs inputs;
  ASSAY_TRY(const bool has_bias, params.flag_or("hasBias", false));
  if (params.layer_type() != 1) inputs.added.push_back(inputs.gamma++);
  if (params.layer_type() != 1 && has_bias) inputs.added.push_back(inputs.gamma++);
  if (has_bias && params.is_quantized())
    return fail(ErrorKind::bad_argument, "hasBias and a quantised output exclude each other");
  // beta, scale and offset; layerType 3 has no beta, and one scale for each row needs neither.
  const size_t quantizing = !params.is_quantized()                                  ? 0
                            : params.layer_type() == 3                              ? 2
                            : params.layer_type() == 1 && params.dynamic_type() > 0 ? 1
                                                                                    : 3;
  ASSAY_TRY_DO(check_inputs(call, inputs.gamma + 1 + quantizing, inputs.gamma + 1 + quantizing));
  return inputs;
}

Result<BoundedNumbers> plus_beta(const GoldenCall& call, BoundedNumbers y, size_t beta) {
  const int64_t width = y.value.shape.dims.back();
  ASSAY_TRY(const PerChannel betas, per_channel_or(call, beta, width, "beta", 0));
  const double u = unit_of_arithmetic(dtype_of(call, 0));
  for (int64_t i = 0; i < y.value.count(); ++i) {
    double& each = y.value.values[static_cast<size_t>(i)];
    each += betas[i % width];
    y.allowed[static_cast<size_t>(i)] += allowance(u * std::abs(each));
  }
  return y;
}

// The norm of a sum, or of input 0 alone, as one of the ways in which kernels round has it.
Result<GoldenOutputs> normed_sum(const GoldenCall& call, const NormParams& params, const RmsInputs& inputs,
                                 const std::vector<double>& gamma, const RmsNorm& norm, const SumWay& way,
                                 ToInt8 to_int8) {
  const DType dtype = dtype_of(call, 0);
  ASSAY_TRY(BoundedNumbers x, norm_input(call, inputs.added, 1, way));
  ASSAY_TRY(BoundedNumbers y, normalized(x, gamma, norm));
  GoldenOutputs outs;
  if (!params.is_quantized()) {
    outs.push_back(expected(dtype, std::move(y)));
  } else if (params.dynamic_type() > 0) {
    ASSAY_TRY(y, plus_beta(call, std::move(y), inputs.gamma + 1));
    return quantized_by_row(y, params.dynamic_type() == 2, to_int8);
  } else {
    const bool has_beta = params.layer_type() != 3;
    const size_t scale = inputs.gamma + (has_beta ? 2 : 1);
    ASSAY_TRY(Expected q, quantized_by_quotient(call, y, has_beta ? static_cast<int>(inputs.gamma + 1) : -1,
                                                scale, scale + 1, to_int8));
    outs.push_back(std::move(q));
    if (!has_beta) outs.push_back(expected(dtype, std::move(y)));
  }
  if (params.layer_type() == 2) {
    ASSAY_TRY(BoundedNumbers sum, sum_of_inputs(call, inputs.added, 1));
    outs.push_back(expected(dtype, std::move(sum)));
  }
  return outs;
}

}  // namespace

Result<GoldenOutputs> rms_norm(const GoldenCall& call) {
  constexpr int64_t kChoices[] = {0, 1};
  ASSAY_TRY(const NormParams params, NormParams::of(call));
  ASSAY_TRY(const int64_t precision, params.choice_or("precisionMode", 0, kChoices));
  ASSAY_TRY(const int64_t model, params.choice_or("modelType", 0, kChoices));
  ASSAY_TRY(const bool has_rstd, params.flag_or("rstd", false));
  if (precision + model + (has_rstd ? 1 : 0) > (params.is_quantized() ? 0 : 1))
    return fail(ErrorKind::bad_argument,
                "precisionMode, modelType, rstd and a quantised output exclude each other");
  ASSAY_TRY_DO(check_inputs(call, 2, 6));
  ASSAY_TRY_DO(check_real(call, 0));
  const DType dtype = dtype_of(call, 0);
  if (precision == 1 && dtype != DType::f16)
    return fail(ErrorKind::mismatch, "precisionMode 1 is for f16, the input is {}", name(dtype));
  RmsNorm norm{params.epsilon(), unit_of_arithmetic(dtype)};
  if (has_rstd && params.layer_type() == 1) return with_inverse(call, norm);

  ASSAY_TRY(const RmsInputs inputs, inputs_of(call, params));
  ASSAY_TRY(const Rows rows, rows_of(call));
  ASSAY_TRY(std::vector<double> gamma, weight_of(call, inputs.gamma, rows.width, "gamma"));
  if (model == 1)
    for (double& each : gamma) each += 1;
  if (precision == 1) {
    // In f16 before the weights, or kept in f32 to the end.
    const auto sums = sum_ways(dtype, inputs.added.size(), 1);
    return by_ways(call, 2 * sums.size(), [=](const GoldenCall& each, size_t way) {
      RmsNorm own = norm;
      if (way < sums.size()) own.rounds_to = DType::f16;
      return normed_sum(each, params, inputs, gamma, own, sums[way % sums.size()], ToInt8::straight);
    });
  }
  if (inputs.added.empty() && !params.is_quantized()) {
    const auto compute = [gamma, norm](int64_t, int64_t, const double* const* in, double* values,
                                       double* errors) {
      rms_norm_row(in[0], nullptr, gamma, norm, values, errors);
    };
    ASSAY_TRY(Expected out, streamed(call, {call.in[0]}, std::max<int64_t>(1, rows.width), 12, compute));
    return GoldenOutputs{std::move(out)};
  }
  const auto sums = sum_ways(dtype, inputs.added.size(), 1);
  return by_ways(call, sums.size() * (params.is_quantized() ? kWaysToInt8 : 1),
                 [=](const GoldenCall& each, size_t way) {
                   return normed_sum(each, params, inputs, gamma, norm, sums[way % sums.size()],
                                     static_cast<ToInt8>(way / sums.size()));
                 });
}

}  // namespace assay
