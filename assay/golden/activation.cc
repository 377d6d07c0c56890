// Bounds: docs/operators.md, "ActivationOperation". u is the unit of the arithmetic.
#include "assay/golden/bounded.h"
#include "assay/golden/families.h"
#include "assay/golden/kernels.h"
#include "assay/golden/quantized.h"
#include "assay/golden/streamed.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

enum ActivationType : int64_t {
  kActivationRelu = 1,
  kActivationGelu,
  kActivationFastGelu,
  kActivationSwish,
  kActivationLog,
  kActivationSwigluForward,
  kActivationSwigluBackward,
  kActivationSigmoid,
  kActivationFasterGelu,
};

constexpr int64_t kCostOfActivation = 20;
constexpr double kRootOfTwoByPi = 0.79788456080286535588;

// 1 / (1 + exp(-z)), where z itself is off by a rounding. In f32 the exponential overflows, and makes it 0.
Approx sigmoid(double z, double u) {
  const double value = 1 / (1 + std::exp(-z));
  return {value, u * value * (6 + 2 * std::abs(z) * (1 - value)) + double{FLT_MIN}};
}

// (1 + tanh t) / 2 is sigmoid(2 t), which does not cancel; those who compute tanh lose more.
Approx gelu_by_tanh(double x, double u) {
  const double t = kRootOfTwoByPi * (x + 0.044715 * x * x * x), s = 1 / (1 + std::exp(-2 * t));
  const double value = x * s, fall = s * (1 - s);
  const double slope = fall > 0 ? std::abs(t) * 4 * fall : 0;
  return {value, u * (0.5 * std::abs(x) * (5 + 5 * slope) + 3 * std::abs(value))};
}

Approx gelu_by_erf(double x, double u) {
  const double t = x * std::numbers::sqrt2 / 2, h = std::erf(t), value = 0.5 * x * (1 + h);
  const double slope = std::abs(t) < 30 ? std::abs(t) * std::exp(-t * t) : 0;
  // Vector libraries are content with an error function that is off by ten roundings of 1.
  return {value, u * (0.5 * std::abs(x) * (12 + 3 * slope) + 3 * std::abs(value))};
}

// Both approximations that multiply by exp(0.851 (x - |x|)) are sigmoid(1.702 x) in other words.
Approx fast_gelu(double x, double u) {
  const double away = std::abs(x);
  const double value = x * std::exp(0.851 * (x - away)) / (1 + std::exp(-1.702 * away));
  return {value, u * std::abs(value) * (12 + 6 * away) + away * double{FLT_MIN}};
}

Approx swish(double x, double scale, double u) {
  const Approx s = sigmoid(scale * x, u);
  const double value = x * s.value;
  return {value, std::abs(x) * s.error + 2 * u * std::abs(value)};
}

Approx logarithm(double x, double u) {
  const double value = std::log(x);
  return {value, u * (4 * std::abs(value) + 1)};
}

// How a tensor is cut into halves along a dimension: `runs` times `half` elements of the first, then as many
// of the second.
struct Halves {
  int64_t runs = 0;
  int64_t half = 0;
  Shape shape;  // of one half
};

Result<Halves> halves_of(const Shape& shape, int64_t dim) {
  ASSAY_TRY(const size_t axis, dimension(shape, dim, "dim"));
  if (shape.dims[axis] % 2 != 0)
    return fail(ErrorKind::mismatch, "dimension {} of shape {} has no halves", axis, shape.text());
  Halves halves{1, 1, shape};
  halves.shape.dims[axis] /= 2;
  for (size_t d = 0; d < shape.dims.size(); ++d)
    (d < axis ? halves.runs : halves.half) *= halves.shape.dims[d];
  return halves;
}

Approx swiglu(double a, double b, double u) {
  const Approx s = swish(a, 1, u);
  return {s.value * b, s.error * std::abs(b) + u * std::abs(s.value * b)};
}

// Of the halves of rows.
Result<BoundedNumbers> swiglu_of_rows(const Numbers& x, double u) {
  ASSAY_TRY(const Halves halves, halves_of(x.shape, -1));
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(halves.shape));
  in_parallel(out.value.count(), kCostOfActivation, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const auto at = static_cast<size_t>(i + i / halves.half * halves.half);
      put(out, i, swiglu(x.values[at], x.values[at + static_cast<size_t>(halves.half)], u));
    }
  });
  return out;
}

Result<GoldenOutputs> swiglu_forward(const GoldenCall& call, int64_t dim, double u) {
  ASSAY_TRY(const Halves halves, halves_of(shape_of(call, 0), dim));
  const int64_t half = std::max<int64_t>(1, halves.half);
  const bool is_exact = dtype_of(call, 0) == DType::f64;
  const auto compute = [=](int64_t, int64_t count, const double* const* in, double* values, double* errors) {
    if (!is_exact)
      return kernel::swiglu(in[0], in[0] + half, count, u * kernel::kOwnErrorInUnits, {values, errors});
    for (int64_t i = 0; i < count; ++i) {
      const Approx y = swiglu(in[0][i], in[0][i + half], u);
      values[i] = y.value;
      errors[i] = y.error;
    }
  };
  ASSAY_TRY(Expected out,
            streamed(call, call.in, Pieces{halves.shape, half, 2 * half}, kCostOfActivation, compute));
  return GoldenOutputs{std::move(out)};
}

// d/da of a · sigmoid(a), which crosses zero: its error is not relative to it.
Approx slope_of_swish(double a, double u) {
  const Approx s = sigmoid(a, u);
  const double rest = 1 / (1 + std::exp(a)), value = s.value * (1 + a * rest);
  return {value, s.error * (1 + std::abs(a)) + 4 * u * s.value * (1 + std::abs(a) * rest)};
}

Result<Expected> swiglu_backward(const GoldenCall& call, int64_t dim, double u) {
  ASSAY_TRY_DO(check_same_type(call, 1));
  ASSAY_TRY(const Numbers dy, numbers_of(call, 0));
  ASSAY_TRY(const Numbers x, numbers_of(call, 1));
  ASSAY_TRY(const Halves halves, halves_of(x.shape, dim));
  if (dy.shape != halves.shape)
    return fail(ErrorKind::mismatch, "the gradient has shape {}, half of the input {}", dy.shape.text(),
                halves.shape.text());
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(x.shape));
  in_parallel(dy.count(), 2 * kCostOfActivation, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t at = i + i / halves.half * halves.half;
      const double g = dy.values[static_cast<size_t>(i)], a = x.values[static_cast<size_t>(at)];
      const double b = x.values[static_cast<size_t>(at + halves.half)];
      const Approx slope = slope_of_swish(a, u), s = swish(a, 1, u);
      const double da = b * g * slope.value, db = g * s.value;
      put(out, at, {da, std::abs(b * g) * slope.error + 3 * u * std::abs(da)});
      put(out, at + halves.half, {db, std::abs(g) * s.error + 2 * u * std::abs(db)});
    }
  });
  return expected(dtype_of(call, 1), std::move(out));
}

Result<GoldenOutputs> activation(const GoldenCall& call) {
  constexpr int64_t kTypes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSAY_TRY(const int64_t type, call.params.choice({"activationType"}, kTypes));
  const size_t inputs = type == kActivationSwigluBackward ? 2 : 1;
  ASSAY_TRY_DO(check_inputs(call, inputs, inputs));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const double scale, call.params.real_or({"scale"}, 1));
  ASSAY_TRY(const int64_t dim, call.params.integer_or({"dim"}, -1));
  const DType dtype = dtype_of(call, 0);
  const double u = unit_of_arithmetic(dtype);
  if (type == kActivationSwigluBackward) {
    ASSAY_TRY(Expected out, swiglu_backward(call, dim, u));
    return GoldenOutputs{std::move(out)};
  }
  if (type == kActivationRelu)
    return GoldenOutputs{exactly(mapped_when_read(call.in[0], dtype, kernel::cut_negative))};
  const auto each = [&](Approx (*exact)(double, double),
                        void (*by_vectors)(const double*, int64_t, double, kernel::Out)) {
    return streamed_function(call, kCostOfActivation, exact, by_vectors);
  };
  if (type == kActivationGelu) {
    constexpr int64_t kModes[] = {0, 1};
    ASSAY_TRY(const int64_t mode, call.params.choice_or({"geluMode"}, 0, kModes));
    if (mode == 0) return each(gelu_by_tanh, kernel::gelu_by_tanh);
    return streamed_function(call, kCostOfActivation, gelu_by_erf, kernel::gelu_by_erf,
                             kernel::gelu_by_erf_short);
  }
  if (type == kActivationSwish)
    return streamed_function(
        call, kCostOfActivation, [scale](double v, double unit) { return swish(v, scale, unit); },
        [scale](const double* x, int64_t n, double unit, kernel::Out out) {
          kernel::swish(x, n, scale, unit, out);
        });
  if (type == kActivationLog) return each(logarithm, kernel::logarithm);
  if (type == kActivationSigmoid) return each(sigmoid, kernel::sigmoid);
  if (type == kActivationSwigluForward) return swiglu_forward(call, dim, u);
  return each(fast_gelu, kernel::fast_gelu);
}

// a · sigmoid(a) · b of the halves of the last dimension, each row with the scale that makes it int8.
Result<GoldenOutputs> swiglu_quant(const GoldenCall& call) {
  constexpr int64_t kByToken[] = {0};
  ASSAY_TRY_DO(call.params.choice_or({"quantType"}, 0, kByToken));
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  return by_ways(call, kWaysToInt8, [](const GoldenCall& each, size_t way) -> Result<GoldenOutputs> {
    ASSAY_TRY(const Numbers x, numbers_of(each, 0));
    ASSAY_TRY(const BoundedNumbers y, swiglu_of_rows(x, unit_of_arithmetic(dtype_of(each, 0))));
    return quantized_by_row(y, false, static_cast<ToInt8>(way));
  });
}

constexpr GoldenOp kActivations[] = {
    {"ActivationOperation", activation,
     "relu, gelu (three ways), swish, log, sigmoid, swiglu forward and backward"},
    {"SwigluQuantOperation", swiglu_quant,
     "swiglu of the last dimension, then each row to int8 with its scale"},
};

}  // namespace

GoldenFamily golden_activations() { return kActivations; }

}  // namespace assay
