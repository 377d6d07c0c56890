// Bounds: docs/operators.md, "LayerNormOperation".
#include "assay/golden/norms.h"
#include "assay/golden/streamed.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace assay {
namespace {

// Mean and inverse deviation of a row, and how far they may be off.
struct Moments {
  Approx mean, inverse;  // the error of the inverse is relative
};

// `errors` of the elements, or null where they are exact.
Moments moments_of(const double* x, const float* errors, int64_t width, double epsilon, double u,
                   double* centred) {
  const auto n = static_cast<double>(width);
  const double mean = sum_of(x, width) / n;
  const double variance = kernel::centre(x, mean, width, centred) / n;
  const double root_mean_square = std::sqrt(variance + mean * mean), more = std::sqrt(n);
  double error = u * (8 * root_mean_square + 2 * more * std::abs(mean));
  double variance_error = u * ((8 + 2 * more) * variance + 2 * std::abs(mean) * std::sqrt(variance));
  if (errors != nullptr) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += static_cast<double>(errors[i]) * static_cast<double>(errors[i]);
    error += 3 * std::sqrt(squares) / n;
    variance_error += 2 * error_of_mean_product(centred, errors, width) + squares / n;
  }
  variance_error += error * error;
  const double inverse = 1 / std::sqrt(variance + epsilon);
  return {{mean, error}, {inverse, 0.5 * variance_error / (variance + epsilon) + 2 * u}};
}

// How rows are normalised: weights of several rows (one for each head) take turns; the bias may be empty.
struct LayerNorm {
  int64_t width = 0;
  std::vector<double> weight, bias;
  double epsilon = 0, unit = 0;
  int64_t heads() const { return width == 0 ? 0 : std::ssize(weight) / width; }
};

// (x - mean) / deviation · weight + bias; `given` are the errors that the row has, or null. `errors` serves
// as room for the centred row first.
void layer_norm_row(const LayerNorm& norm, int64_t row, const double* x, const float* given, double* values,
                    double* errors) {
  const double u = norm.unit;
  const Moments m = moments_of(x, given, norm.width, norm.epsilon, u, errors);
  const double* const w = norm.weight.data() + row % norm.heads() * norm.width;
  kernel::centred({w, norm.bias.empty() ? nullptr : norm.bias.data(), m.inverse.value, m.mean.error,
                   m.inverse.error + 4 * u},
                  norm.width, u, {values, errors});
  if (given == nullptr) return;
  for (int64_t i = 0; i < norm.width; ++i)
    errors[i] += std::abs(w[i] * m.inverse.value) * static_cast<double>(given[i]);
}

Result<BoundedNumbers> normalized_rows(const BoundedNumbers& x, const LayerNorm& norm) {
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(x.value.shape));
  const int64_t width = norm.width;
  in_parallel(norm.heads() == 0 ? 0 : x.value.count() / width, 16 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> errors(static_cast<size_t>(width));
    for (int64_t row = begin; row < end; ++row) {
      const float* const given = x.allowed.empty() ? nullptr : x.allowed.data() + row * width;
      layer_norm_row(norm, row, x.value.values.data() + row * width, given,
                     out.value.values.data() + row * width, errors.data());
      std::ranges::transform(errors, out.allowed.begin() + row * width, allowance);
    }
  });
  return out;
}

// The norm of input 0, which nothing was added to.
Result<GoldenOutputs> streamed_norm(const GoldenCall& call, const LayerNorm& norm) {
  const auto compute = [norm](int64_t first, int64_t, const double* const* in, double* values,
                              double* errors) {
    layer_norm_row(norm, first / norm.width, in[0], nullptr, values, errors);
  };
  ASSAY_TRY(Expected out, streamed(call, {call.in[0]}, std::max<int64_t>(1, norm.width), 16, compute));
  return GoldenOutputs{std::move(out)};
}

// Which steps a kernel rounds to the type of the tensors after the norm.
struct AfterNorm {
  bool norm = false, product = false, sum = false;
};

// Towards int8 by a given scale kernels round all steps or none; or some.
constexpr AfterNorm kStatic[] = {{},
                                 {.norm = true, .product = true, .sum = true},
                                 {.norm = true},
                                 {.norm = true, .product = true},
                                 {.product = true, .sum = true},
                                 {.norm = true, .sum = true},
                                 {.product = true},
                                 {.sum = true}};
// Towards int8 with a scale for each row, the norm or nothing.
constexpr AfterNorm kDynamic[] = {{.norm = true}, {}};
constexpr AfterNorm kPlain[] = {{}};

// What a sum or a product is rounded by: by nothing where what went into it is known, and f32 holds it.
double error_of_step(double value, double error, double u) {
  const bool is_exact = error == 0 && static_cast<double>(static_cast<float>(value)) == value;
  return is_exact ? 0 : error + u * std::abs(value);
}

// r · scale + offset of the norm r.
Result<Expected> quantized_by_product(const GoldenCall& call, const BoundedNumbers& norm, size_t scale,
                                      const AfterNorm& way, ToInt8 to_int8) {
  const int64_t width = norm.value.shape.dims.back();
  ASSAY_TRY(const PerChannel scales, per_channel(call, scale, width, "scale"));
  ASSAY_TRY(const PerChannel offsets, per_channel(call, scale + 1, width, "offset"));
  const DType dtype = dtype_of(call, 0);
  const double u = unit_of_arithmetic(dtype);
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(norm.value.shape));
  in_parallel(width == 0 ? 0 : norm.value.count() / width, 20 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> values(static_cast<size_t>(width)), errors(values.size());
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < width; ++c) {
        const auto i = static_cast<size_t>(c);
        values[i] = norm.value.values[static_cast<size_t>(row * width + c)] * scales[c];
        const double error = norm.error(row * width + c);
        errors[i] = error_of_step(values[i], error <= double{FLT_MIN} ? 0 : std::abs(scales[c]) * error, u);
      }
      if (way.product) round_numbers(dtype, values, errors);
      for (int64_t c = 0; c < width; ++c) {
        const auto i = static_cast<size_t>(c);
        values[i] += offsets[c];
        if (offsets[c] != 0) errors[i] = error_of_step(values[i], errors[i], u);
      }
      if (way.sum) round_numbers(dtype, values, errors);
      for (int64_t c = 0; c < width; ++c) {
        const auto i = static_cast<size_t>(c);
        put(out, row * width + c, {values[i], errors[i]});
      }
    }
  });
  return expected_int8(std::move(out), to_int8);
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

// What is added to input 0, and its factor.
struct Added {
  std::vector<size_t> inputs;
  double factor = 1;
};

Result<Added> added_to(const NormParams& params) {
  if (params.layer_type() == 1) return Added{};
  ASSAY_TRY(const double former, params.real_or("zoomScale", 1));  // as others have read it
  ASSAY_TRY(const double zoom, params.real_or("zoomScaleValue", former));
  return Added{{1}, params.is_quantized() ? 1 : zoom};
}

// As one of the ways in which kernels round has it.
Result<GoldenOutputs> normed_sum(const GoldenCall& call, const NormParams& params, const Added& added,
                                 const LayerNorm& norm, const SumWay& way, const AfterNorm& after,
                                 ToInt8 to_int8) {
  const DType dtype = dtype_of(call, 0);
  const size_t weight = params.layer_type() == 1 ? 1 : 2;
  ASSAY_TRY(const BoundedNumbers x, norm_input(call, added.inputs, added.factor, way));
  ASSAY_TRY(BoundedNumbers y, normalized_rows(x, norm));
  GoldenOutputs outs;
  if (params.layer_type() == 3 && params.is_quantized()) outs.push_back(expected(dtype, y));
  if (after.norm) round_numbers(dtype, y);
  if (params.dynamic_type() > 0) return quantized_by_row(y, params.dynamic_type() == 2, to_int8);
  if (params.is_quantized()) {
    ASSAY_TRY(Expected q, quantized_by_product(call, y, weight + 2, after, to_int8));
    outs.push_back(std::move(q));
    return outs;
  }
  outs.push_back(expected(dtype, std::move(y)));
  if (params.layer_type() == 2) {
    ASSAY_TRY(BoundedNumbers sum, sum_of_inputs(call, added.inputs, added.factor));
    outs.push_back(expected(dtype, std::move(sum)));
  }
  return outs;
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
  LayerNorm norm{width, {}, {}, params.epsilon(), unit_of_arithmetic(dtype)};
  ASSAY_TRY(norm.weight, weight_of(call, weight, width, "gamma"));
  ASSAY_TRY(norm.bias, weight_of(call, weight + 1, width, "beta"));
  if (params.layer_type() == 1 && !params.is_quantized()) return streamed_norm(call, norm);
  ASSAY_TRY(const Added added, added_to(params));
  const std::vector<SumWay> sums = sum_ways(dtype, added.inputs.size(), added.factor);
  const std::span<const AfterNorm> after = params.dynamic_type() > 0 ? std::span<const AfterNorm>(kDynamic)
                                           : is_static               ? std::span<const AfterNorm>(kStatic)
                                                                     : std::span<const AfterNorm>(kPlain);
  const size_t before_int8 = sums.size() * after.size();
  return by_ways(
      call, before_int8 * (params.is_quantized() ? kWaysToInt8 : 1), [=](const GoldenCall& each, size_t way) {
        return normed_sum(each, params, added, norm, sums[way % sums.size()],
                          after[way % before_int8 / sums.size()], static_cast<ToInt8>(way / before_int8));
      });
}

Result<GoldenOutputs> cohere_layer_norm(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const double epsilon, call.params.epsilon_or({"epsilon"}, 1e-5));
  const std::vector<int64_t>&x_dims = shape_of(call, 0).dims, &dims = shape_of(call, 1).dims;
  if (dims.empty() || dims.size() > x_dims.size() || !std::equal(dims.rbegin(), dims.rend(), x_dims.rbegin()))
    return fail(ErrorKind::mismatch, "gamma of shape {} does not fit the input of shape {}",
                shape_of(call, 1).text(), shape_of(call, 0).text());
  ASSAY_TRY(Numbers gamma, numbers_of(call, 1));
  return streamed_norm(
      call, {dims.back(), std::move(gamma.values), {}, epsilon, unit_of_arithmetic(dtype_of(call, 0))});
}

}  // namespace assay
