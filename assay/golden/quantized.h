// Real numbers as int8.
#pragma once

#include "assay/golden/ways.h"

namespace assay {

// A number that each channel has for itself, or one for all.
struct PerChannel {
  std::vector<double> values;
  double operator[](int64_t channel) const {
    return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

// An input of one element, or of one for each of `width` channels. Where there is none: `otherwise`.
Result<PerChannel> per_channel(const GoldenCall& call, size_t i, int64_t width, std::string_view what);
Result<PerChannel> per_channel_or(const GoldenCall& call, size_t i, int64_t width, std::string_view what,
                                  double otherwise);

// What it may cost that a kernel rounds a number to `dtype` on the way, where others do not: half a step.
double error_of_rounding(DType dtype, double value);

// Processors have no way from f32 to int8 but through f16: what that may add to the error.
double error_through_f16(double value);

// Each row of the last dimension is scaled to fill -127 to 127, or moved too, to fill -128 to 127:
// out[0] int8; out[1] the scales, f32; out[2] the offsets, where asymmetric. Rows without extent, or with
// elements that are not finite, have no int8 that can be told. An error for a scalar.
Result<GoldenOutputs> quantized_by_row(const BoundedNumbers& x, bool asymmetric, ToInt8 to_int8);

}  // namespace assay
