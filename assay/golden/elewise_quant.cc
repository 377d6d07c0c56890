#include "assay/golden/elewise.h"
#include "assay/golden/quantized.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

Result<int64_t> channels_of(const GoldenCall& call) {
  if (shape_of(call, 0).dims.empty())
    return fail(ErrorKind::mismatch, "input 0 of {} is a scalar: it has no channels", call.type);
  return shape_of(call, 0).dims.back();
}

}  // namespace

// The kernel multiplies and adds in the type of the tensor; others in f32.
Result<GoldenOutputs> elewise_quant(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const double scale, call.params.real_or({"quantParam.inputScale", "inputScale"}, 1));
  ASSAY_TRY(const double offset, call.params.real_or({"quantParam.inputOffset", "inputOffset"}, 0));
  ASSAY_TRY(const Numbers x, numbers_of(call, 0));
  const DType dtype = dtype_of(call, 0);
  const double of_scale = std::abs(rounded_to(dtype, scale) - scale);  // some round it first
  BoundedNumbers out = mapped(x, 4, [=](double v) {
    const double product = v * scale, y = product + offset;
    double error = std::abs(v) * of_scale;
    if (scale != 1) error += error_of_rounding(dtype, std::abs(product) + error);
    if (offset != 0) error += error_of_rounding(dtype, std::abs(y) + error);
    return Approx{y, error + error_through_f16(y)};
  });
  return GoldenOutputs{expected_int8(std::move(out))};
}

// The quotient, and the sum with the offset, are rounded to the type of the tensor; where a kernel computes
// in f32 they are not.
Result<GoldenOutputs> elewise_quant_per_channel(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 3));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const int64_t width, channels_of(call));
  ASSAY_TRY(const PerChannel scale, per_channel(call, 1, width, "scale"));
  ASSAY_TRY(const PerChannel offset, per_channel_or(call, 2, width, "offset", 0));
  ASSAY_TRY(const Numbers x, numbers_of(call, 0));
  const DType dtype = dtype_of(call, 0);
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(x.shape));
  in_parallel(width == 0 ? 0 : x.count() / width, 8 * width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * width; i < end * width; ++i) {
      const double quotient = x.values[static_cast<size_t>(i)] / scale[i % width], by = offset[i % width];
      double error = error_of_rounding(dtype, quotient);
      if (by != 0) error += error_of_rounding(dtype, std::abs(quotient + by) + error);
      put(out, i, {quotient + by, error + error_through_f16(quotient + by)});
    }
  });
  return GoldenOutputs{expected_int8(std::move(out))};
}

Result<GoldenOutputs> elewise_dequant_per_channel(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 3));
  if (dtype_of(call, 0) != DType::i8)
    return fail(ErrorKind::mismatch, "input 0 of {} is {} where i8 is wanted", call.type,
                name(dtype_of(call, 0)));
  ASSAY_TRY_DO(check_real(call, 1));
  ASSAY_TRY(const int64_t width, channels_of(call));
  ASSAY_TRY(const PerChannel scale, per_channel(call, 1, width, "scale"));
  ASSAY_TRY(const PerChannel offset, per_channel_or(call, 2, width, "offset", 0));
  ASSAY_TRY(const Numbers y, numbers_of(call, 0));
  const DType dtype = dtype_of(call, 1);
  const double u = unit_of_arithmetic(dtype), largest = dtype == DType::f16 ? 65504 : HUGE_VAL;
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(y.shape));
  in_parallel(width == 0 ? 0 : y.count() / width, 4 * width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t c = 0; c < width; ++c) {
        const int64_t i = row * width + c;
        const double x = (y.values[static_cast<size_t>(i)] - offset[c]) * scale[c];
        put(out, i, {std::clamp(x, -largest, largest), u * std::abs(x)});
      }
  });
  return GoldenOutputs{expected(dtype, std::move(out))};
}

Result<GoldenOutputs> elewise_dynamic_quant(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const int64_t to, call.params.integer_or({"outTensorType", "OutTensorType"}, -1));
  if (to >= 34 && to <= 36)
    return fail(ErrorKind::unsupported, "no golden for rows quantised to 8-bit floats");
  ASSAY_TRY(const bool asymmetric, call.params.flag_or({"quantParam.asymmetric", "asymmetric"}, false));
  return by_ways(call, kWaysToInt8, [=](const GoldenCall& each, size_t way) -> Result<GoldenOutputs> {
    ASSAY_TRY(Numbers x, numbers_of(each, 0));
    return quantized_by_row(BoundedNumbers{std::move(x)}, asymmetric, static_cast<ToInt8>(way));
  });
}

}  // namespace assay
