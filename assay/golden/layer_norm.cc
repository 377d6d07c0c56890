// Bounds: docs/operators.md, "LayerNormOperation".
#include "assay/golden/norms.h"

#include <cmath>

namespace assay {
namespace {

// Mean and inverse deviation of a row, and how far they may be off.
struct Moments {
  Approx mean, inverse;  // the error of the inverse is relative
};

// `errors` of the elements, or null where they are exact.
Moments moments_of(const double* x, const float* errors, int64_t width, double epsilon, double u,
                   std::vector<double>& centred) {
  const auto n = static_cast<double>(width);
  const double mean = sum_of(x, width) / n;
  for (int64_t i = 0; i < width; ++i) centred[static_cast<size_t>(i)] = x[i] - mean;
  const double variance = sum_of_products(centred.data(), centred.data(), width) / n;
  const double root_mean_square = std::sqrt(variance + mean * mean), more = std::sqrt(n);
  double error = u * (8 * root_mean_square + 2 * more * std::abs(mean));
  double variance_error = u * ((8 + 2 * more) * variance + 2 * std::abs(mean) * std::sqrt(variance));
  if (errors != nullptr) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += static_cast<double>(errors[i]) * static_cast<double>(errors[i]);
    error += 3 * std::sqrt(squares) / n;
    variance_error += 2 * error_of_mean_product(centred.data(), errors, width) + squares / n;
  }
  variance_error += error * error;
  const double inverse = 1 / std::sqrt(variance + epsilon);
  return {{mean, error}, {inverse, 0.5 * variance_error / (variance + epsilon) + 2 * u}};
}

// (x - mean) / deviation · weight + bias over rows of the length of the weight; `bias` may be empty. Weights
// of several rows (one for each head) take turns.
Result<BoundedNumbers> normalized_rows(const BoundedNumbers& x, int64_t width,
                                       const std::vector<double>& weight, const std::vector<double>& bias,
                                       double epsilon, double u) {
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(x.value.shape));
  const int64_t heads = width == 0 ? 0 : std::ssize(weight) / width;
  in_parallel(heads == 0 ? 0 : x.value.count() / width, 16 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> centred(static_cast<size_t>(width));
    const std::vector<double> none(bias.empty() ? static_cast<size_t>(width) : 0, 0.0);
    const double* const b = bias.empty() ? none.data() : bias.data();
    for (int64_t row = begin; row < end; ++row) {
      const float* const errors = x.allowed.empty() ? nullptr : x.allowed.data() + row * width;
      const Moments m = moments_of(x.value.values.data() + row * width, errors, width, epsilon, u, centred);
      const double* const w = weight.data() + row % heads * width;
      double* const to = out.value.values.data() + row * width;
      float* const allowed = out.allowed.data() + row * width;
      const double relative = m.inverse.error + 4 * u;
      for (int64_t i = 0; i < width; ++i) {
        const double slope = w[i] * m.inverse.value, product = centred[static_cast<size_t>(i)] * slope;
        to[i] = product + b[i];
        allowed[i] =
            allowance(std::abs(slope) * m.mean.error + std::abs(product) * relative + u * std::abs(to[i]));
      }
      if (errors == nullptr) continue;
      for (int64_t i = 0; i < width; ++i)
        allowed[i] += allowance(std::abs(w[i] * m.inverse.value) * static_cast<double>(errors[i]));
    }
  });
  return out;
}

// dtype(dtype(r · scale) + offset) of the norm r, rounded to its type. Each of the three roundings may go the
// other way near a tie, which is a whole step.
Result<Expected> quantized_by_product(const GoldenCall& call, const BoundedNumbers& norm, size_t scale) {
  const int64_t width = norm.value.shape.dims.back();
  ASSAY_TRY(const PerChannel scales, per_channel(call, scale, width, "scale"));
  ASSAY_TRY(const PerChannel offsets, per_channel(call, scale + 1, width, "offset"));
  const DType dtype = dtype_of(call, 0);
  const double u = unit_roundoff(dtype);
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(norm.value.shape));
  in_parallel(width == 0 ? 0 : norm.value.count() / width, 20 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> r(static_cast<size_t>(width)), p(static_cast<size_t>(width)), q(r.size());
    for (int64_t row = begin; row < end; ++row) {
      const auto first = norm.value.values.begin() + row * width;
      r.assign(first, first + width);
      round_to(dtype, r);
      for (int64_t c = 0; c < width; ++c) p[static_cast<size_t>(c)] = r[static_cast<size_t>(c)] * scales[c];
      round_to(dtype, p);
      for (int64_t c = 0; c < width; ++c) q[static_cast<size_t>(c)] = p[static_cast<size_t>(c)] + offsets[c];
      round_to(dtype, q);
      for (int64_t c = 0; c < width; ++c) {
        const double product = std::abs(p[static_cast<size_t>(c)]), value = q[static_cast<size_t>(c)];
        const double error = std::abs(scales[c]) * norm.error(row * width + c);
        put(out, row * width + c,
            {value, error + u * (4 * product + 2 * std::abs(value)) + error_through_f16(value)});
      }
    }
  });
  return expected_int8(std::move(out));
}

// Rounded to the type of the tensor before anything else is done with it: near a tie either way.
void round_norm(BoundedNumbers& norm, DType dtype) {
  round_to(dtype, norm.value.values);
  const double u = unit_roundoff(dtype);
  for (size_t i = 0; i < norm.allowed.size(); ++i)
    norm.allowed[i] += allowance(2 * u * std::abs(norm.value.values[i]));
}

// The product of the dimensions that are normalised together.
Result<int64_t> normalised_size(const GoldenCall& call, const NormParams& params) {
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const Rows rows, rows_of(call));
  if (params.layer_type() != 1 || params.is_quantized()) return rows.width;
  ASSAY_TRY(const int64_t axis, params.integer_or("beginNormAxis", 0));
  ASSAY_TRY(const size_t first, dimension(shape, axis, "beginNormAxis"));
  int64_t size = 1;
  for (size_t d = first; d < shape.dims.size(); ++d) size *= shape.dims[d];
  return size;
}

Result<BoundedNumbers> sum_for(const GoldenCall& call, const NormParams& params) {
  if (params.layer_type() == 1) return sum_of_inputs(call, {}, 1);
  constexpr size_t kResidual[] = {1};
  ASSAY_TRY(const double former, params.real_or("zoomScale", 1));  // as others have read it
  ASSAY_TRY(const double zoom, params.real_or("zoomScaleValue", former));
  return sum_of_inputs(call, kResidual, params.is_quantized() ? 1 : zoom);
}

}  // namespace

Result<GoldenOutputs> layer_norm(const GoldenCall& call) {
  ASSAY_TRY(const NormParams params, NormParams::of(call));
  if (params.layer_type() == 2 && params.is_quantized())
    return fail(ErrorKind::bad_argument, "layerType 2 has no quantised output");
  const size_t weight = params.layer_type() == 1 ? 1 : 2;
  const bool is_static = params.is_quantized() && params.dynamic_type() == 0;
  const size_t inputs = weight + 2 + (is_static ? 2 : 0);
  ASSAY_TRY_DO(check_inputs(call, inputs, inputs));
  ASSAY_TRY_DO(check_real(call, 0));
  const DType dtype = dtype_of(call, 0);
  ASSAY_TRY(const int64_t width, normalised_size(call, params));
  ASSAY_TRY(BoundedNumbers x, sum_for(call, params));
  ASSAY_TRY(const std::vector<double> gamma, weight_of(call, weight, width, "gamma"));
  ASSAY_TRY(const std::vector<double> beta, weight_of(call, weight + 1, width, "beta"));
  ASSAY_TRY(BoundedNumbers y, normalized_rows(as_norm_input(x, dtype), width, gamma, beta, params.epsilon(),
                                              unit_of_arithmetic(dtype)));
  if (params.dynamic_type() > 0) {
    round_norm(y, dtype);
    return quantized_by_row(y, params.dynamic_type() == 2);
  }
  GoldenOutputs outs;
  if (is_static) {
    ASSAY_TRY(Expected q, quantized_by_product(call, y, weight + 2));
    if (params.layer_type() == 3) outs.push_back(expected(dtype, std::move(y)));
    outs.push_back(std::move(q));
    return outs;
  }
  outs.push_back(expected(dtype, std::move(y)));
  if (params.layer_type() == 2) outs.push_back(expected(dtype, std::move(x)));
  return outs;
}

Result<GoldenOutputs> cohere_layer_norm(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const double epsilon, call.params.real_or({"epsilon"}, 1e-5));
  const std::vector<int64_t>&x_dims = shape_of(call, 0).dims, &dims = shape_of(call, 1).dims;
  if (dims.empty() || dims.size() > x_dims.size() || !std::equal(dims.rbegin(), dims.rend(), x_dims.rbegin()))
    return fail(ErrorKind::mismatch, "gamma of shape {} does not fit the input of shape {}",
                shape_of(call, 1).text(), shape_of(call, 0).text());
  ASSAY_TRY(Numbers x, numbers_of(call, 0));
  ASSAY_TRY(const Numbers gamma, numbers_of(call, 1));
  const DType dtype = dtype_of(call, 0);
  ASSAY_TRY(BoundedNumbers y, normalized_rows(BoundedNumbers{std::move(x)}, dims.back(), gamma.values, {},
                                              epsilon, unit_of_arithmetic(dtype)));
  return GoldenOutputs{expected(dtype, std::move(y))};
}

}  // namespace assay
