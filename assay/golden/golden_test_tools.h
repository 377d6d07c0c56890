// Tensors and parameters of golden operators in a few words, for tests.
#pragma once

#include "assay/golden/golden.h"
#include "assay/golden/numbers.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

namespace assay {

inline OperandPtr tensor_of(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{std::move(dims)}});
}

inline OpParam param_of(std::string key, std::vector<Value> values) {
  const bool is_list = values.size() != 1;
  return {std::move(key), std::move(values), is_list};
}

// The error of a call that must fail; a test fails where it does not.
inline Error error_of(const Result<GoldenOutputs>& outputs) {
  EXPECT_FALSE(outputs.has_value());
  return outputs ? Error{} : outputs.error();
}

struct GoldenTry {
  std::string type;
  std::vector<OpParam> params;
  std::vector<OperandPtr> in;
  std::vector<TensorMeta> out = {};
  Soc soc = Soc::unknown;
  std::function<Result<std::vector<OperandPtr>>(int rank)> in_of_rank = {};
  std::function<Result<std::vector<OpParam>>(int rank)> params_of_rank = {};
  std::function<Result<std::vector<RankCall>>(int rank, std::string_view type)> calls_on_rank = {};

  Result<GoldenOutputs> run() const {
    const GoldenOp* const op = find_golden_op(type);
    if (op == nullptr) return fail(ErrorKind::not_found, "no golden for {}", type);
    GoldenCall call;
    call.type = type;
    call.params = GoldenParams(params);
    call.in = in;
    call.out = out;
    call.soc = soc;
    call.in_of_rank = in_of_rank;
    call.params_of_rank = params_of_rank;
    call.calls_on_rank = calls_on_rank;
    return op->compute(call);
  }
};

// The elements of an output as the operator would write them, rounded to its type.
inline std::vector<double> written(const Expected& output) {
  auto numbers = numbers_of(*output.value, int64_t{1} << 30);
  EXPECT_TRUE(numbers.has_value()) << (numbers ? "" : numbers.error().message);
  if (!numbers) return {};
  if (output.rounds()) {
    if (!is_real(output.dtype))
      for (double& value : numbers->values) value = round_half_even(value);
    round_to(output.dtype, numbers->values);
  }
  return numbers->values;
}

inline std::vector<double> allowed_of(const Expected& output) {
  if (output.allowed == nullptr) return {};
  const auto numbers = numbers_of(*output.allowed, int64_t{1} << 30);
  EXPECT_TRUE(numbers.has_value());
  return numbers ? numbers->values : std::vector<double>();
}

}  // namespace assay
