#include "assay/golden/linear.h"

#include "assay/base/checked.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <bit>
#include <cmath>

namespace assay {

Result<std::optional<DType>> dtype_of_acl(int64_t number, std::string_view param) {
  switch (number) {
    case -1:
      return std::nullopt;
    case 0:
      return DType::f32;
    case 1:
      return DType::f16;
    case 27:
      return DType::bf16;
    default:
      return fail(ErrorKind::bad_argument, "the parameter {} is {}, which is none of -1, 0, 1, 27", param,
                  number);
  }
}

Result<OperandPtr> plain_weight(const GoldenCall& call, size_t i) {
  const OperandPtr& stored = call.in[i];
  const Shape& shape = stored->meta.shape;
  const int64_t block = stored->meta.dtype == DType::i8 ? 32 : 16;
  Shape plain;
  std::vector<int64_t> in_blocks, strides;
  if (shape.dims.size() == 4) {
    const int64_t batch = shape.dims[0], across = shape.dims[1], down = shape.dims[2], width = shape.dims[3];
    const auto columns = checked_multiply(across, width);
    if (!columns) return fail(ErrorKind::mismatch, "no weight has the shape {}", shape.text());
    plain.dims = {down, *columns};
    if (batch != 1) plain.dims.insert(plain.dims.begin(), batch);
    in_blocks = {batch, down, across, width};
    strides = {down * *columns, width, down * width, 1};
  } else if (shape.dims.size() == 2 && call.soc == Soc::ascend_310p) {
    const int64_t down = shape.dims[0], columns = shape.dims[1];
    if (columns % block != 0)
      return fail(ErrorKind::mismatch, "a weight of shape {} cannot lie in blocks of {} columns",
                  shape.text(), block);
    plain = shape;
    in_blocks = {down, columns / block, block};
    strides = {block, down * block, 1};
  } else {
    if (shape.dims.size() != 2 && shape.dims.size() != 3)
      return fail(ErrorKind::mismatch, "a weight has 2 to 4 dimensions, not the shape {}", shape.text());
    return stored;
  }
  ASSAY_TRY(const OperandPtr rows, strided(stored, Shape{in_blocks}, strides, 0));
  ASSAY_TRY(std::vector<std::byte> bytes, read_whole(*rows, call.memory));
  return dense_in_memory(std::move(bytes), TensorMeta{stored->meta.dtype, plain});
}

Result<Scales> scales_of(const GoldenCall& call, size_t i) {
  Scales scales;
  const DType dtype = call.in[i]->meta.dtype;
  if (dtype != DType::i64 && dtype != DType::u64) {
    if (!is_real(dtype))
      return fail(ErrorKind::mismatch, "input {} of {} is {}: a scale is wanted", i, call.type, name(dtype));
    ASSAY_TRY(Numbers numbers, numbers_of(call, i));
    scales.values = std::move(numbers.values);
    scales.ignored.assign(scales.values.size(), 0.0);
    return scales;
  }
  ASSAY_TRY(const Integers packed, integers_of(call, i));
  for (const int64_t each : packed.values) {
    const auto bits = static_cast<uint32_t>(static_cast<uint64_t>(each));
    const auto value = static_cast<double>(std::bit_cast<float>(bits));
    const auto read = static_cast<double>(std::bit_cast<float>(bits & 0xFFFFE000u));
    scales.values.push_back(value);
    scales.ignored.push_back(value == 0 || !std::isfinite(value) ? 0 : std::abs((value - read) / value));
  }
  return scales;
}

Result<void> check_per_column(size_t count, int64_t columns, int64_t terms, std::string_view what) {
  const auto have = static_cast<int64_t>(count);
  if (have == 1 || have == columns || (terms > 1 && have == checked_multiply(columns, terms))) return {};
  return fail(ErrorKind::mismatch, "the {} has {} elements, for {} columns", what, count, columns);
}

RoundedStep rounded_step(DType dtype, double exact, double error) {
  const double rounded = rounded_to(dtype, exact);
  if (!std::isfinite(rounded) || !std::isfinite(exact)) return {rounded, 0};
  return {rounded, std::abs(rounded - exact) + unit_roundoff(dtype) * std::abs(exact) + error};
}

namespace {

constexpr int64_t kLinearPerToken = 2;
constexpr int64_t kMostTerms = int64_t{1} << 22;  // as shapes with a zero could name any number of them

struct LinearRun {
  Product product;
  Shape shape;                                // of the output
  int64_t rows = 0, columns = 0, length = 0;  // of one term
  bool is_einsum = false;

  int64_t terms() const { return std::ssize(product.terms); }
  int64_t tokens() const { return terms() * rows; }
  // Places of a row in the output, and among the tokens.
  int64_t token(int64_t term, int64_t row) const {
    return is_einsum ? row * terms() + term : term * rows + row;
  }
};

Result<LinearRun> einsum_run(const OperandPtr& x, const OperandPtr& weight, bool transpose_a,
                             bool transpose_b) {
  const std::vector<int64_t>&dims = x->meta.shape.dims, &of_weight = weight->meta.shape.dims;
  const bool is_shared = of_weight.size() == 2;
  if (transpose_a || dims.size() != 3 || (!is_shared && of_weight[0] != dims[1]))
    return fail(ErrorKind::mismatch, "no product mbk,bkn->mbn of shapes {} and {}", x->meta.shape.text(),
                weight->meta.shape.text());
  if (dims[1] > kMostTerms) return fail(ErrorKind::limit, "{} products at once", dims[1]);
  LinearRun run;
  run.is_einsum = true;
  run.product.transpose_b = transpose_b;
  for (int64_t i = 0; i < dims[1]; ++i)
    run.product.terms.push_back(
        {{x, i * dims[2], dims[0], dims[2], dims[1] * dims[2]}, matrix_of(weight, is_shared ? 0 : i)});
  run.rows = dims[0];
  run.columns = of_weight[of_weight.size() - (transpose_b ? 2 : 1)];
  run.length = dims[2];
  run.shape.dims = {dims[0], dims[1], run.columns};
  return run;
}

Result<LinearRun> linear_run(const OperandPtr& x, const OperandPtr& weight, bool transpose_a,
                             bool transpose_b) {
  const std::vector<int64_t>&dims = x->meta.shape.dims, &of_weight = weight->meta.shape.dims;
  if (dims.size() < 2)
    return fail(ErrorKind::mismatch, "x has the shape {}: rows are wanted", x->meta.shape.text());
  LinearRun run;
  run.product.transpose_a = transpose_a;
  run.product.transpose_b = transpose_b;
  const bool is_shared = of_weight.size() == 2 || of_weight[0] == 1;
  int64_t batches = 1;
  for (size_t i = 0; i + 2 < dims.size(); ++i) batches *= dims[i];
  if (!is_shared && of_weight[0] != batches)
    return fail(ErrorKind::mismatch, "shapes {} and {} do not fit: {} and {} matrices", x->meta.shape.text(),
                weight->meta.shape.text(), batches, of_weight[0]);
  if (is_shared && !transpose_a) {
    const int64_t length = dims.back();
    run.product.terms.push_back(
        {{x, 0, batches * dims[dims.size() - 2], length, length}, matrix_of(weight, 0)});
  } else {
    if (batches > kMostTerms) return fail(ErrorKind::limit, "{} products at once", batches);
    for (int64_t i = 0; i < batches; ++i)
      run.product.terms.push_back({matrix_of(x, i), matrix_of(weight, is_shared ? 0 : i)});
  }
  run.columns = of_weight[of_weight.size() - (transpose_b ? 2 : 1)];
  run.shape.dims.assign(dims.begin(), dims.end() - 2);
  run.shape.dims.push_back(dims[dims.size() - (transpose_a ? 1 : 2)]);
  run.shape.dims.push_back(run.columns);
  run.length = dims[dims.size() - (transpose_a ? 2 : 1)];
  run.rows = run.product.terms.empty() ? 0 : run.product.rows(run.product.terms[0]);
  return run;
}

Result<GoldenOutputs> compute_linear(const GoldenCall& call, LinearRun& run, DType dtype,
                                     const std::function<void(const ProductRun&, ComputedTensor&)>& finish) {
  const DType a = run.product.terms.empty() ? DType::f32 : run.product.terms[0].a.data->meta.dtype;
  const DType b = run.product.terms.empty() ? DType::f32 : run.product.terms[0].b.data->meta.dtype;
  run.product.accumulator = accumulator_of(a, b);
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, run.shape, call.memory));
  ASSAY_TRY_DO(
      compute_products(run.product, call.memory, [&](const ProductRun& part) { finish(part, out); }));
  GoldenOutputs outputs;
  outputs.push_back(out.take());
  return outputs;
}

// The bias is added to what was rounded to the type of x.
Result<GoldenOutputs> real_linear(const GoldenCall& call, LinearRun run, bool has_bias) {
  const DType x = dtype_of(call, 0);
  if (!is_real(x) || !is_real(dtype_of(call, 1)))
    return fail(ErrorKind::mismatch, "{} of {} and {}", call.type, name(x), name(dtype_of(call, 1)));
  Numbers bias;
  DType dtype = x;
  if (has_bias) {
    ASSAY_TRY(bias, numbers_of(call, 2));
    ASSAY_TRY_DO(check_per_column(bias.values.size(), run.columns, run.terms(), "bias"));
    // torch widens to the type of the bias, ATB does not.
    const bool is_wider = dtype_of(call, 2) == DType::f32 && (x == DType::f16 || x == DType::bf16);
    if (is_wider) dtype = call.out.empty() ? DType::f32 : call.out[0].dtype;
  }
  const double unit = unit_of_arithmetic(x);
  return compute_linear(call, run, dtype, [&](const ProductRun& part, ComputedTensor& out) {
    const int64_t first = run.token(part.term, part.row) * run.columns + part.column;
    const double error_of_norm = product_error(unit, run.length, 1);
    if (!has_bias) {
      std::vector<double> errors(part.norms, part.norms + part.count);
      for (double& each : errors) each *= error_of_norm;
      return out.set(first, part.count, part.sums, errors.data());
    }
    for (int64_t j = 0; j < part.count; ++j) {
      const double error = error_of_norm * part.norms[j];
      const double added =
          bias.values[per_column(bias.values.size(), run.columns, part.term, part.column + j)];
      const RoundedStep step = rounded_step(x, part.sums[j], error);
      out.set(first + j, step.value + added, step.allowed + unit * std::abs(step.value + added));
    }
  });
}

Result<GoldenOutputs> accumulating_linear(const GoldenCall& call, LinearRun run) {
  const DType x = dtype_of(call, 0), dtype = dtype_of(call, 2);
  if (!is_real(x) || !is_real(dtype_of(call, 1)) || !is_real(dtype))
    return fail(ErrorKind::mismatch, "{} accumulates real numbers only", call.type);
  ASSAY_TRY(const Numbers sum, numbers_of(call, 2));
  ASSAY_TRY(const int64_t count, count_of(run.shape));
  if (sum.count() != count)
    return fail(ErrorKind::mismatch, "the accumulator has the shape {}, the product {}", sum.shape.text(),
                run.shape.text());
  run.shape = sum.shape;
  const double unit = unit_of_arithmetic(x);
  // An accumulator of 16 bits has the product rounded to its type before.
  const double rounding = dtype == DType::f32 || dtype == DType::f64 ? 0 : unit_roundoff(dtype);
  return compute_linear(call, run, dtype, [&](const ProductRun& part, ComputedTensor& out) {
    const int64_t first = run.token(part.term, part.row) * run.columns + part.column;
    for (int64_t j = 0; j < part.count; ++j) {
      const double value = sum.values[static_cast<size_t>(first + j)] + part.sums[j];
      out.set(first + j, value,
              product_error(unit, run.length, part.norms[j]) + rounding * std::abs(part.sums[j]) +
                  2 * unit * std::abs(value));
    }
  });
}

// (sum + bias) * scale, from int32 through f32.
Result<GoldenOutputs> quantised_linear(const GoldenCall& call, LinearRun run, bool has_bias, DType dtype,
                                       bool is_per_token) {
  const size_t of_scale = has_bias ? 3 : 2;
  ASSAY_TRY_DO(check_inputs(call, of_scale + (is_per_token ? 2 : 1), of_scale + (is_per_token ? 2 : 1)));
  Integers bias;
  if (has_bias) {
    ASSAY_TRY(bias, integers_of(call, 2));
    ASSAY_TRY_DO(check_per_column(bias.values.size(), run.columns, run.terms(), "bias"));
  }
  ASSAY_TRY(const Scales scales, scales_of(call, of_scale));
  ASSAY_TRY_DO(check_per_column(scales.size(), run.columns, run.terms(), "scale"));
  Numbers tokens;
  if (is_per_token) {
    ASSAY_TRY(tokens, numbers_of(call, of_scale + 1));
    if (tokens.count() != run.tokens() && tokens.count() != run.rows)
      return fail(ErrorKind::mismatch, "{} scales of tokens for {} tokens", tokens.count(), run.tokens());
  }
  const double unit = unit_roundoff(DType::f32);
  return compute_linear(call, run, dtype, [&](const ProductRun& part, ComputedTensor& out) {
    const int64_t token = run.token(part.term, part.row);
    double of_token = 1;
    if (is_per_token)
      of_token = tokens.values[static_cast<size_t>(tokens.count() == run.tokens() ? token : part.row)];
    for (int64_t j = 0; j < part.count; ++j) {
      const int64_t column = part.column + j;
      double sum = part.sums[j];
      if (has_bias)
        sum +=
            static_cast<double>(bias.values[per_column(bias.values.size(), run.columns, part.term, column)]);
      const size_t at = per_column(scales.size(), run.columns, part.term, column);
      const double value = sum * scales.values[at] * of_token;
      out.set(token * run.columns + column, value, (4 * unit + scales.ignored[at]) * std::abs(value));
    }
  });
}

}  // namespace

Result<GoldenOutputs> golden_linear(const GoldenCall& call) {
  const GoldenParams& params = call.params;
  ASSAY_TRY_DO(check_inputs(call, 2, 5));
  ASSAY_TRY(const bool transpose_a, params.flag({"transposeA"}));
  ASSAY_TRY(const bool transpose_b, params.flag({"transposeB"}));
  ASSAY_TRY(const bool accumulates, params.flag_or({"enAccum"}, false));
  // ATB writes it always; tools that leave it out mean what there is.
  ASSAY_TRY(const bool has_bias, params.flag_or({"hasBias"}, call.in.size() > 2 && !accumulates));
  ASSAY_TRY(const int64_t acl, params.integer_or({"outDataType"}, -1));
  ASSAY_TRY(const std::optional<DType> wanted, dtype_of_acl(acl, "outDataType"));
  constexpr int64_t kTypes[] = {0, 1}, kModes[] = {0, 1, kLinearPerToken};
  ASSAY_TRY(const int64_t type, params.choice_or({"matmulType"}, 0, kTypes));
  ASSAY_TRY(const int64_t mode, params.choice_or({"quantMode"}, 0, kModes));
  if (accumulates && has_bias) return fail(ErrorKind::bad_argument, "enAccum and hasBias exclude each other");

  ASSAY_TRY(const OperandPtr weight, plain_weight(call, 1));
  ASSAY_TRY(LinearRun run, type == 1 ? einsum_run(call.in[0], weight, transpose_a, transpose_b)
                                     : linear_run(call.in[0], weight, transpose_a, transpose_b));
  if (dtype_of(call, 0) == DType::i8 && dtype_of(call, 1) == DType::i8) {
    if (accumulates) return fail(ErrorKind::bad_argument, "enAccum is not for int8");
    std::optional<DType> dtype = wanted;
    if (!dtype && !call.out.empty() && is_real(call.out[0].dtype)) dtype = call.out[0].dtype;
    if (!dtype) return fail(ErrorKind::bad_argument, "outDataType does not say what int8 is scaled to");
    return quantised_linear(call, std::move(run), has_bias, *dtype, mode == kLinearPerToken);
  }
  const size_t wants = has_bias || accumulates ? 3 : 2;
  ASSAY_TRY_DO(check_inputs(call, wants, wants));
  return accumulates ? accumulating_linear(call, std::move(run))
                     : real_linear(call, std::move(run), has_bias);
}

Result<GoldenOutputs> golden_matmul(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  ASSAY_TRY(const bool transpose_a, call.params.flag({"transposeA"}));
  ASSAY_TRY(const bool transpose_b, call.params.flag({"transposeB"}));
  ASSAY_TRY(const OperandPtr weight, plain_weight(call, 1));
  ASSAY_TRY(LinearRun run, linear_run(call.in[0], weight, transpose_a, transpose_b));
  const bool is_known = !call.out.empty() && is_real(call.out[0].dtype);
  const double unit = unit_of_arithmetic(dtype_of(call, 0));
  return compute_linear(call, run, is_known ? call.out[0].dtype : DType::f16,
                        [&](const ProductRun& part, ComputedTensor& out) {
                          const int64_t first = run.token(part.term, part.row) * run.columns + part.column;
                          for (int64_t j = 0; j < part.count; ++j)
                            out.set(first + j, part.sums[j], product_error(unit, run.length, part.norms[j]));
                        });
}

}  // namespace assay
