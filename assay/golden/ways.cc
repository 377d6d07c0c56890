#include "assay/golden/ways.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace assay {

Result<GoldenOutputs> by_ways(
    const GoldenCall& call, size_t ways,
    std::function<Result<GoldenOutputs>(const GoldenCall& call, size_t way)> compute) {
  ASSAY_TRY(GoldenOutputs outputs, compute(call, 0));
  if (ways < 2) return outputs;
  const auto kept = std::make_shared<GoldenCall>(call);
  for (size_t k = 0; k < outputs.size(); ++k)
    for (size_t way = 1; way < ways; ++way)
      outputs[k].other_ways.push_back([kept, compute, k, way]() -> Result<Expected> {
        ASSAY_TRY(GoldenOutputs of_way, compute(*kept, way));
        return std::move(of_way[k]);
      });
  return outputs;
}

void round_numbers(DType dtype, std::span<double> values, std::span<double> errors) {
  std::vector<double> low(values.size()), high(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    low[i] = values[i] - errors[i];
    high[i] = values[i] + errors[i];
  }
  round_to(dtype, low);
  round_to(dtype, high);
  round_to(dtype, values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double either = std::max(high[i] - values[i], values[i] - low[i]);
    if (std::isfinite(either)) errors[i] = either;  // beyond the range of the type there is no step
  }
}

void round_numbers(DType dtype, BoundedNumbers& numbers) {
  std::vector<double> errors(numbers.allowed.begin(), numbers.allowed.end());
  round_numbers(dtype, numbers.value.values, errors);
  std::ranges::transform(errors, numbers.allowed.begin(), allowance);
}

Expected expected_int8(BoundedNumbers value, ToInt8 way) {
  if (way == ToInt8::through_f16) round_numbers(DType::f16, value);
  return expected_int8(std::move(value));
}

}  // namespace assay
