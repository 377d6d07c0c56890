// One number from one or two others, place by place. Bounds: docs/operators.md, "ElewiseOperation".
#include "assay/golden/elewise.h"

#include "assay/golden/bounded.h"
#include "assay/golden/families.h"
#include "assay/golden/streamed.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

enum ElewiseType : int64_t {
  kElewiseCast = 1,
  kElewiseMuls,
  kElewiseCos,
  kElewiseSin,
  kElewiseNeg,
  kElewiseQuant,
  kElewiseLogicalNot,
  kElewiseAdd,
  kElewiseMul,
  kElewiseRealDiv,
  kElewiseLogicalAnd,
  kElewiseLogicalOr,
  kElewiseLess,
  kElewiseGreater,
  kElewiseSub,
  kElewiseEqual,
  kElewiseQuantPerChannel,
  kElewiseDequantPerChannel,
  kElewiseDynamicQuant,
  kElewiseTanh,
};

constexpr int64_t kCostOfElewiseFunction = 20;

// ----- whole numbers, which f64 would not hold

bool is_whole_number(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
}

// As a register of the type would hold it.
int64_t wrapped_to(uint64_t value, DType dtype) {
  const int unused = 64 - 8 * static_cast<int>(size_of(dtype));
  const uint64_t high = value << unused;
  return info(dtype).kind == DTypeKind::integer ? static_cast<int64_t>(high) >> unused
                                                : static_cast<int64_t>(high >> unused);
}

Result<void> check_computable(const GoldenCall& call, size_t i) {
  if (i < call.in.size() && call.in[i] != nullptr &&
      (is_complex(dtype_of(call, i)) || dtype_of(call, i) == DType::u64))
    return fail(ErrorKind::mismatch, "input {} of {} is {}, which it does not compute with", i, call.type,
                name(dtype_of(call, i)));
  return {};
}

// ----- casts

Result<DType> type_of_cast(const GoldenCall& call) {
  constexpr int64_t kCodes[] = {-1, 0, 1, 3, 9, 27};
  ASSAY_TRY(const int64_t code, call.params.choice_or({"outTensorType", "OutTensorType"}, -1, kCodes));
  switch (code) {
    case 0:
      return DType::f32;
    case 1:
      return DType::f16;
    case 3:
      return DType::i32;
    case 9:
      return DType::i64;
    case 27:
      return DType::bf16;
    default:
      return dtype_of(call, 0) == DType::f32 ? DType::f16 : DType::f32;
  }
}

// Whether a number has a place in a type of whole numbers: beyond it processors differ.
bool fits_whole(DType to, double value) {
  const double limit = to == DType::i64 ? 0x1p63 : 0x1p31;
  return value > -limit - 1 && value < limit;
}

Result<GoldenOutputs> elewise_cast(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_computable(call, 0));
  ASSAY_TRY(const DType to, type_of_cast(call));
  if (to == dtype_of(call, 0)) return GoldenOutputs{exactly(call.in[0])};
  if (is_real(dtype_of(call, 0)) && is_real(to))
    return GoldenOutputs{exactly(mapped_when_read(call.in[0], to, [](double*, int64_t) {}))};
  std::vector<uint8_t> is_known;
  GoldenOutputs outs;
  if (is_whole_number(dtype_of(call, 0)) && is_whole_number(to)) {
    ASSAY_TRY(const Integers x, integers_of(call, 0));
    for (const int64_t each : x.values)
      is_known.push_back(to == DType::i64 || each == static_cast<int32_t>(each) ? 1 : 0);
    outs.push_back(expected(to, x));
  } else {
    ASSAY_TRY(const Numbers x, numbers_of(call, 0));
    if (is_whole_number(to))
      for (const double each : x.values) is_known.push_back(fits_whole(to, each) ? 1 : 0);
    outs.push_back(exactly_rounded(to, x));
  }
  leave_out(outs[0], is_known, "numbers that the type of whole numbers does not hold");
  return outs;
}

// ----- functions of one tensor

Result<GoldenOutputs> elewise_neg(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_computable(call, 0));
  const DType dtype = dtype_of(call, 0);
  if (is_whole_number(dtype)) {
    ASSAY_TRY(Integers x, integers_of(call, 0));
    for (int64_t& each : x.values) each = wrapped_to(-static_cast<uint64_t>(each), dtype);
    return GoldenOutputs{expected(dtype, x)};
  }
  return GoldenOutputs{exactly(mapped_when_read(call.in[0], dtype, kernel::negate))};
}

// Some round the factor to the type of the tensor first.
Result<GoldenOutputs> elewise_muls(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const std::vector<double> factors, call.params.reals({"mulsParam.varAttr", "varAttr"}));
  if (factors.size() != 1) return fail(ErrorKind::bad_argument, "the parameter varAttr is not a number");
  const DType dtype = dtype_of(call, 0);
  const double factor = factors[0];
  const double rounded = rounded_to(dtype, factor);  // as some kernels have it
  const double of_factor = rounded == factor        ? 0
                           : std::isfinite(rounded) ? std::abs(rounded / factor - 1)
                                                    : unit_roundoff(dtype);
  const double u = 2 * unit_of_arithmetic(dtype) + of_factor;
  ASSAY_TRY(Expected out,
            streamed(call, {call.in[0]}, kPieceElements, 2,
                     [=](int64_t, int64_t count, const double* const* in, double* values, double* errors) {
                       kernel::scale(in[0], factor, count, u, {values, errors});
                     }));
  return GoldenOutputs{std::move(out)};
}

Approx cosine_of(double x, double u) {
  const double value = std::cos(x);
  return {value, 4 * u * std::abs(value) + 2 * u};
}
Approx sine_of(double x, double u) {
  const double value = std::sin(x);
  return {value, 4 * u * std::abs(value) + 2 * u * std::min(1.0, std::abs(x))};
}
Approx tanh_of(double x, double u) {
  const double value = std::tanh(x);
  return {value, 5 * u * std::abs(value)};
}

Result<GoldenOutputs> by_function(const GoldenCall& call, Approx (*exact)(double x, double u),
                                  void (*by_vectors)(const double*, int64_t, double, kernel::Out)) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  return streamed_function(call, kCostOfElewiseFunction, exact, by_vectors);
}

// ----- truths

// int8, unless the dump says that truths were written as another type of one byte.
DType type_of_truths(const GoldenCall& call) {
  const DType dtype = call.out.empty() ? DType::i8 : call.out[0].dtype;
  return dtype == DType::boolean || dtype == DType::u8 ? dtype : DType::i8;
}

GoldenOutputs elewise_truths(const GoldenCall& call, const Shape& shape, std::vector<int64_t> values) {
  return GoldenOutputs{expected(type_of_truths(call), Integers{shape, std::move(values)})};
}

Result<GoldenOutputs> elewise_logical_not(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY(const Numbers x, numbers_of(call, 0));
  std::vector<int64_t> values;
  for (const double each : x.values) values.push_back(each == 0 ? 1 : 0);
  return elewise_truths(call, x.shape, std::move(values));
}

// ----- functions of two tensors

// A tensor as if it had a shape that it can be broadcast to.
Result<OperandPtr> broadcast_view(const OperandPtr& source, const Shape& shape) {
  if (source->meta.shape == shape) return source;
  const std::vector<int64_t>& dims = source->meta.shape.dims;
  std::vector<int64_t> strides(shape.dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t extent = dims[dims.size() - 1 - i];
    if (extent != 1) strides[strides.size() - 1 - i] = stride;
    stride *= extent;
  }
  return strided(source, shape, strides, 0);
}

// The same call with both inputs broadcast to the shape of the output.
Result<GoldenCall> with_equal_shapes(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  ASSAY_TRY_DO(check_same_type(call, 1));
  ASSAY_TRY_DO(check_computable(call, 0));
  ASSAY_TRY(const Shape shape, broadcast_shape(shape_of(call, 0), shape_of(call, 1)));
  GoldenCall wide = call;
  for (OperandPtr& each : wide.in) {
    ASSAY_TRY(each, broadcast_view(each, shape));
  }
  return wide;
}

// `f(a, b)` is a truth.
template <class F>
Result<GoldenOutputs> elewise_compared(const GoldenCall& narrow, F f) {
  ASSAY_TRY(const GoldenCall call, with_equal_shapes(narrow));
  std::vector<int64_t> values(static_cast<size_t>(shape_of(call, 0).count()));
  const auto fill = [&](const auto& a, const auto& b) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = f(a.values[i], b.values[i]) ? 1 : 0;
  };
  if (is_whole_number(dtype_of(call, 0))) {
    ASSAY_TRY(const Integers a, integers_of(call, 0));
    ASSAY_TRY(const Integers b, integers_of(call, 1));
    fill(a, b);
  } else {
    ASSAY_TRY(const Numbers a, numbers_of(call, 0));
    ASSAY_TRY(const Numbers b, numbers_of(call, 1));
    fill(a, b);
  }
  return elewise_truths(call, shape_of(call, 0), std::move(values));
}

// One operation in f32 (f64 for f64), rounded to the type.
Result<GoldenOutputs> elewise_computed_real(const GoldenCall& narrow, kernel::Operation operation) {
  ASSAY_TRY(const GoldenCall call, with_equal_shapes(narrow));
  ASSAY_TRY_DO(check_real(call, 0));
  const double relative = 2 * unit_of_arithmetic(dtype_of(call, 0));
  ASSAY_TRY(Expected out,
            streamed(call, call.in, kPieceElements, 4,
                     [=](int64_t, int64_t count, const double* const* in, double* values, double* errors) {
                       kernel::operate(operation, in[0], in[1], count, relative, {values, errors});
                     }));
  return GoldenOutputs{std::move(out)};
}

// Whole numbers wrap around.
template <class F>
Result<GoldenOutputs> elewise_computed(const GoldenCall& narrow, kernel::Operation operation, F f) {
  if (narrow.in.empty() || !is_whole_number(dtype_of(narrow, 0)))
    return elewise_computed_real(narrow, operation);
  ASSAY_TRY(const GoldenCall call, with_equal_shapes(narrow));
  ASSAY_TRY(Integers a, integers_of(call, 0));
  ASSAY_TRY(const Integers b, integers_of(call, 1));
  for (size_t i = 0; i < a.values.size(); ++i)
    a.values[i] = wrapped_to(f(static_cast<uint64_t>(a.values[i]), static_cast<uint64_t>(b.values[i])),
                             dtype_of(call, 0));
  return GoldenOutputs{expected(dtype_of(call, 0), a)};
}

Result<GoldenOutputs> elewise(const GoldenCall& call) {
  constexpr int64_t kElewiseTypes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  ASSAY_TRY(const int64_t type, call.params.choice({"elewiseType"}, kElewiseTypes));
  switch (type) {
    case kElewiseCast:
      return elewise_cast(call);
    case kElewiseMuls:
      return elewise_muls(call);
    case kElewiseCos:
      return by_function(call, cosine_of, kernel::cosine);
    case kElewiseSin:
      return by_function(call, sine_of, kernel::sine);
    case kElewiseTanh:
      return by_function(call, tanh_of, kernel::tanh);
    case kElewiseNeg:
      return elewise_neg(call);
    case kElewiseQuant:
      return elewise_quant(call);
    case kElewiseQuantPerChannel:
      return elewise_quant_per_channel(call);
    case kElewiseDequantPerChannel:
      return elewise_dequant_per_channel(call);
    case kElewiseDynamicQuant:
      return elewise_dynamic_quant(call);
    case kElewiseLogicalNot:
      return elewise_logical_not(call);
    case kElewiseLogicalAnd:
      return elewise_compared(call, [](auto a, auto b) { return a != 0 && b != 0; });
    case kElewiseLogicalOr:
      return elewise_compared(call, [](auto a, auto b) { return a != 0 || b != 0; });
    case kElewiseLess:
      return elewise_compared(call, [](auto a, auto b) { return a < b; });
    case kElewiseGreater:
      return elewise_compared(call, [](auto a, auto b) { return a > b; });
    case kElewiseEqual:
      return elewise_compared(call, [](auto a, auto b) { return a == b; });
    case kElewiseAdd:
      return elewise_computed(call, kernel::Operation::add, [](uint64_t a, uint64_t b) { return a + b; });
    case kElewiseSub:
      return elewise_computed(call, kernel::Operation::subtract,
                              [](uint64_t a, uint64_t b) { return a - b; });
    case kElewiseMul:
      return elewise_computed(call, kernel::Operation::multiply,
                              [](uint64_t a, uint64_t b) { return a * b; });
    default:
      return elewise_computed_real(call, kernel::Operation::divide);
  }
}

constexpr GoldenOp kElewise[] = {
    {"ElewiseOperation", elewise,
     "casts, sums, products, quotients, comparisons, logic, cos, sin, tanh, quantisation, place by place"},
};

}  // namespace

GoldenFamily golden_elewise() { return kElewise; }

}  // namespace assay
