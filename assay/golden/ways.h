// Kernels round to the type of their tensors on the way, or do not. One kernel does so in all of a tensor or
// nowhere: each way has a golden of its own with a bound of f32, instead of one bound that holds for all.
#pragma once

#include "assay/golden/bounded.h"

#include <functional>
#include <span>

namespace assay {

// Outputs by the first of several ways, which fall back on the others.
Result<GoldenOutputs> by_ways(
    const GoldenCall& call, size_t ways,
    std::function<Result<GoldenOutputs>(const GoldenCall& call, size_t way)> compute);

// Rounds to the type. Where the error leaves it open to which side, the number has a step for an error.
void round_numbers(DType dtype, std::span<double> values, std::span<double> errors);
void round_numbers(DType dtype, BoundedNumbers& numbers);

// Processors without a way from f32 to int8 go through f16.
enum class ToInt8 : uint8_t { straight, through_f16 };
inline constexpr size_t kWaysToInt8 = 2;
// As expected_int8.
Expected expected_int8(BoundedNumbers value, ToInt8 way);

}  // namespace assay
