// A linear whose sums or rows are shared out over ranks. Ranks are folded in order, each rounded to the type
// of the output, as a ring does.
#include "assay/golden/linear.h"
#include "assay/golden/products.h"
#include "assay/tensor/gather.h"

#include <cmath>

namespace assay {
namespace {

enum ParallelType : int64_t { kLinearReduce = 0, kLinearScatter = 1, kGatherLinear = 2, kLinearAlone = 3 };
enum ShareQuant : int64_t {
  kShareReal = -1,
  kShareTensor = 0,
  kShareChannel = 1,
  kShareGroup = 2,
  kShareToken = 3
};
constexpr int64_t kMostLinearRanks = 4096;

struct ParallelParams {
  int64_t rank = 0, ranks = 1;
  int64_t type = kLinearReduce;
  int64_t quant = kShareReal;
  int64_t group = 0;
  bool transposes = true, has_residual = false, keeps_intermediate = false;
  std::optional<DType> dtype;

  bool is_quantised() const { return quant != kShareReal; }
  // Places of the optional inputs: x, weight, [offset, scale], [residual], [scales of tokens].
  size_t residual(const GoldenCall& call) const { return is_quantised() ? 4 : call.in.size() - 1; }
  size_t tokens() const { return has_residual ? 5 : 4; }
};

Result<ParallelParams> read_parallel_params(const GoldenCall& call) {
  const GoldenParams& given = call.params;
  ParallelParams params;
  ASSAY_TRY_DO(given.text({"backend"}));
  ASSAY_TRY(params.rank, given.integer({"rank"}));
  ASSAY_TRY_DO(given.integer({"rankRoot"}));
  ASSAY_TRY(params.ranks, given.integer({"rankSize"}));
  if (params.ranks < 1 || params.ranks > kMostLinearRanks || params.rank < 0 || params.rank >= params.ranks)
    return fail(ErrorKind::bad_argument, "rank {} of rankSize {}", params.rank, params.ranks);
  constexpr int64_t kTypes[] = {0, 1, 2, 3, 4, 5, 6}, kQuants[] = {-1, 0, 1, 2, 3};
  ASSAY_TRY(params.type, given.choice_or({"type"}, kLinearReduce, kTypes));
  if (params.type > kLinearAlone)
    return fail(ErrorKind::unsupported, "type {} exchanges rows between experts: not computed", params.type);
  ASSAY_TRY(params.quant, given.choice_or({"quantType"}, kShareReal, kQuants));
  ASSAY_TRY(params.group, given.integer_or({"quantGroupSize"}, 0));
  if (params.quant == kShareGroup && params.group <= 0)
    return fail(ErrorKind::bad_argument, "quantGroupSize is {}", params.group);
  ASSAY_TRY(params.transposes, given.flag_or({"transWeight"}, true));
  ASSAY_TRY(params.has_residual, given.flag_or({"hasResidual"}, false));
  ASSAY_TRY(params.keeps_intermediate, given.flag_or({"keepIntermediate"}, false));
  ASSAY_TRY(const int64_t acl, given.integer_or({"outDataType"}, -1));
  ASSAY_TRY(params.dtype, dtype_of_acl(acl, "outDataType"));
  if (call.soc == Soc::ascend_310p)
    return fail(ErrorKind::unsupported, "LinearParallel runs on the 910B only");
  return params;
}

// What one rank multiplies.
struct Share {
  GoldenCall call;  // with its inputs
  OperandPtr x;
  OperandPtr weight;
  Scales offsets, scales;
  Numbers tokens;
  int64_t rows = 0, columns = 0, length = 0;
  bool is_whole = false;  // both factors are int8
};

Result<std::vector<double>> share_values(const GoldenCall& call, size_t i) {
  if (!has_input(call, i)) return std::vector<double>();
  ASSAY_TRY(Numbers numbers, numbers_of(call, i));
  return std::move(numbers.values);
}

Result<Share> share_of(const GoldenCall& call, const ParallelParams& params, std::vector<OperandPtr> in) {
  Share share;
  share.call = call;
  share.call.in = std::move(in);
  size_t wants = 2 + (params.is_quantised() ? 2 : 0) + (params.has_residual ? 1 : 0);
  if (params.quant == kShareToken) ++wants;
  ASSAY_TRY_DO(check_inputs(share.call, wants, params.is_quantised() ? wants : wants + 2));
  share.x = share.call.in[0];
  ASSAY_TRY(share.weight, plain_weight(share.call, 1));
  const std::vector<int64_t>&dims = share.x->meta.shape.dims, &of_weight = share.weight->meta.shape.dims;
  if (dims.size() < 2 || of_weight.size() != 2)
    return fail(ErrorKind::mismatch, "no linear of shapes {} and {}", share.x->meta.shape.text(),
                share.weight->meta.shape.text());
  share.length = dims.back();
  share.rows = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) share.rows *= dims[i];
  share.columns = of_weight[params.transposes ? 0 : 1];
  share.is_whole = share.x->meta.dtype == DType::i8 && share.weight->meta.dtype == DType::i8;
  if (!is_real(share.x->meta.dtype) && !share.is_whole)
    return fail(ErrorKind::mismatch, "x is {}", name(share.x->meta.dtype));
  if (!params.is_quantised()) {
    if (!is_real(share.x->meta.dtype) || !is_real(share.weight->meta.dtype))
      return fail(ErrorKind::mismatch,
                  "quantType says that nothing is quantised, but x is {} and weight is {}",
                  name(share.x->meta.dtype), name(share.weight->meta.dtype));
    return share;
  }
  ASSAY_TRY(share.offsets.values, share_values(share.call, 2));
  ASSAY_TRY(share.scales, scales_of(share.call, 3));
  const int64_t groups = params.quant == kShareGroup ? (share.length + params.group - 1) / params.group : 1;
  const auto fits = [&](size_t count) {
    const auto have = static_cast<int64_t>(count);
    return have == 1 || have == share.columns ||
           (groups > 1 && !share.is_whole && (have == groups || have == groups * share.columns));
  };
  if (!fits(share.scales.size()) || (!share.offsets.values.empty() && !fits(share.offsets.values.size())))
    return fail(ErrorKind::mismatch, "{} scales and {} offsets for {} columns", share.scales.size(),
                share.offsets.values.size(), share.columns);
  if (params.quant == kShareToken) {
    ASSAY_TRY(share.tokens, numbers_of(share.call, params.tokens()));
    if (share.tokens.count() != share.rows)
      return fail(ErrorKind::mismatch, "{} scales of tokens for {} tokens", share.tokens.count(), share.rows);
  }
  return share;
}

// w = (w + offset) * scale, rounded to the type of x, for weights that alone are quantised.
void dequantise_weight(const Share& share, const ParallelParams& params, int64_t row, int64_t rows,
                       int64_t column, int64_t columns, float* weight) {
  const auto at = [&](size_t count, int64_t k, int64_t n) {
    const int64_t group = params.quant == kShareGroup ? k / params.group : 0;
    const auto have = static_cast<int64_t>(count);
    if (have == 1) return size_t{0};
    if (have == share.columns) return static_cast<size_t>(n);
    return static_cast<size_t>(have % share.columns == 0 ? group * share.columns + n : group);
  };
  std::vector<double> line(static_cast<size_t>(columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t k = params.transposes ? column + j : row + i,
                    n = params.transposes ? row + i : column + j;
      double value = static_cast<double>(weight[i * columns + j]);
      if (!share.offsets.values.empty()) value += share.offsets.values[at(share.offsets.values.size(), k, n)];
      line[static_cast<size_t>(j)] = value * share.scales.values[at(share.scales.size(), k, n)];
    }
    round_to(share.x->meta.dtype, line);
    for (int64_t j = 0; j < columns; ++j)
      weight[i * columns + j] = static_cast<float>(line[static_cast<size_t>(j)]);
  }
}

// Calls `take(row, column, value, error)` for rows [first, first + rows) of the share.
Result<void> multiply_share(const Share& share, const ParallelParams& params, int64_t first, int64_t rows,
                            const std::function<void(int64_t, int64_t, double, double)>& take) {
  Product product;
  product.transpose_b = params.transposes;
  product.terms.push_back(
      {{share.x, first * share.length, rows, share.length, share.length}, matrix_of(share.weight, 0)});
  product.accumulator = accumulator_of(share.x->meta.dtype, share.weight->meta.dtype);
  const bool adapts = params.is_quantised() && !share.is_whole;
  if (adapts) {
    if (share.weight->meta.dtype != DType::i8)
      return fail(ErrorKind::mismatch, "a quantised weight is int8, not {}", name(share.weight->meta.dtype));
    product.accumulator = Accumulator::f32;
    product.adapt_b = [&](int64_t row, int64_t count, int64_t column, int64_t columns, float* b) {
      dequantise_weight(share, params, row, count, column, columns, b);
    };
  }
  const double unit = unit_of_arithmetic(share.x->meta.dtype);
  return compute_products(product, share.call.memory, [&](const ProductRun& part) {
    for (int64_t j = 0; j < part.count; ++j) {
      const int64_t column = part.column + j;
      double value = part.sums[j], error = product_error(unit, share.length, part.norms[j]);
      if (share.is_whole) {
        if (!share.offsets.values.empty())
          value += share.offsets.values[per_column(share.offsets.values.size(), share.columns, 0, column)];
        const size_t at = per_column(share.scales.size(), share.columns, 0, column);
        value *= share.scales.values[at];
        if (!share.tokens.values.empty()) value *= share.tokens.values[static_cast<size_t>(first + part.row)];
        error = (4 * unit_roundoff(DType::f32) + share.scales.ignored[at]) * std::abs(value);
      }
      take(part.row, column, value, error);
    }
  });
}

Result<std::vector<OperandPtr>> share_inputs(const GoldenCall& call, const ParallelParams& params,
                                             int64_t rank) {
  if (rank == params.rank) return call.in;
  if (!call.in_of_rank)
    return fail(ErrorKind::not_found, "{} needs the tensors of all {} ranks: those of rank {} are not here",
                call.type, params.ranks, rank);
  return call.in_of_rank(static_cast<int>(rank));
}

Result<void> add_share_residual(const GoldenCall& call, const ParallelParams& params, int64_t columns,
                                ComputedTensor& out) {
  if (!params.has_residual) return {};
  ASSAY_TRY(const Numbers residual, numbers_of(call, params.residual(call)));
  const int64_t count = out.shape().count();
  if (residual.count() != count && residual.count() != columns)
    return fail(ErrorKind::mismatch, "the residual has the shape {}, the output {}", residual.shape.text(),
                out.shape().text());
  for (int64_t i = 0; i < count; ++i) {
    const double value =
        out.value(i) + residual.values[static_cast<size_t>(residual.count() == count ? i : i % columns)];
    out.set(i, value, out.allowed(i) + 2 * unit_roundoff(DType::f32) * std::abs(value));
  }
  return {};
}

Result<DType> share_output_type(const GoldenCall& call, const ParallelParams& params, const Share& share) {
  if (!share.is_whole) return share.x->meta.dtype;
  if (params.dtype) return *params.dtype;
  if (!call.out.empty() && is_real(call.out[0].dtype)) return call.out[0].dtype;
  return fail(ErrorKind::bad_argument, "outDataType does not say what int8 is scaled to");
}

// Types 0 and 1: the sum over the ranks of what each has, of all rows or of this rank's.
Result<GoldenOutputs> reduced_linear(const GoldenCall& call, const ParallelParams& params, const Share& own) {
  Shape shape = own.x->meta.shape;
  shape.dims.back() = own.columns;
  int64_t first = 0, rows = own.rows;
  if (params.type == kLinearScatter) {
    const size_t axis = shape.dims.size() == 3 && shape.dims[0] == 1 ? 1 : 0;
    if (shape.dims[axis] % params.ranks != 0)
      return fail(ErrorKind::mismatch, "{} rows cannot be shared out over {} ranks", shape.dims[axis],
                  params.ranks);
    shape.dims[axis] /= params.ranks;
    rows /= params.ranks;
    first = params.rank * rows;
  }
  ASSAY_TRY(const DType dtype, share_output_type(call, params, own));
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, shape, call.memory));
  for (int64_t rank = 0; rank < params.ranks; ++rank) {
    ASSAY_TRY(std::vector<OperandPtr> in, share_inputs(call, params, rank));
    ASSAY_TRY(const Share share, share_of(call, params, std::move(in)));
    if (share.rows != own.rows || share.columns != own.columns)
      return fail(ErrorKind::mismatch, "rank {} has {} x {} elements, rank {} has {} x {}", rank, share.rows,
                  share.columns, params.rank, own.rows, own.columns);
    ASSAY_TRY_DO(multiply_share(
        share, params, first, rows, [&](int64_t row, int64_t column, double value, double error) {
          const int64_t at = row * own.columns + column;
          const RoundedStep step = rounded_step(dtype, value, error);
          if (rank == 0) {
            out.set(at, step.value, step.allowed);
            return;
          }
          const RoundedStep sum =
              rounded_step(dtype, out.value(at) + step.value, out.allowed(at) + step.allowed);
          out.set(at, sum.value, sum.allowed);
        }));
  }
  ASSAY_TRY_DO(add_share_residual(call, params, own.columns, out));
  GoldenOutputs outputs;
  outputs.push_back(out.take());
  return outputs;
}

// Types 2 and 3: the rows of all ranks, or of this one, times this one's weight.
Result<GoldenOutputs> gathered_linear(const GoldenCall& call, const ParallelParams& params, Share own) {
  std::vector<OperandPtr> parts;
  for (int64_t rank = 0; params.type == kGatherLinear && rank < params.ranks; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> in, share_inputs(call, params, rank));
    if (in.empty() || in[0] == nullptr) return fail(ErrorKind::mismatch, "rank {} has no input 0", rank);
    parts.push_back(in[0]);
  }
  if (parts.size() > 1) {
    if (!own.tokens.values.empty())
      return fail(ErrorKind::unsupported, "scales of tokens of other ranks are not known");
    ASSAY_TRY(own.x, concatenated(std::move(parts), 0));
    own.rows = 1;
    for (size_t i = 0; i + 1 < own.x->meta.shape.dims.size(); ++i) own.rows *= own.x->meta.shape.dims[i];
  }
  Shape shape = own.x->meta.shape;
  shape.dims.back() = own.columns;
  ASSAY_TRY(const DType dtype, share_output_type(call, params, own));
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, shape, call.memory));
  ASSAY_TRY_DO(
      multiply_share(own, params, 0, own.rows, [&](int64_t row, int64_t column, double value, double error) {
        const RoundedStep step =
            params.has_residual ? rounded_step(dtype, value, error) : RoundedStep{value, error};
        out.set(row * own.columns + column, step.value, step.allowed);
      }));
  ASSAY_TRY_DO(add_share_residual(call, params, own.columns, out));
  GoldenOutputs outputs;
  outputs.push_back(out.take());
  if (params.type == kGatherLinear && params.keeps_intermediate) outputs.push_back(exactly(own.x));
  return outputs;
}

}  // namespace

Result<GoldenOutputs> golden_linear_parallel(const GoldenCall& call) {
  ASSAY_TRY(const ParallelParams params, read_parallel_params(call));
  ASSAY_TRY_DO(check_inputs(call, 2, 6));
  ASSAY_TRY(Share own, share_of(call, params, call.in));
  if (params.type == kLinearReduce || params.type == kLinearScatter) return reduced_linear(call, params, own);
  return gathered_linear(call, params, std::move(own));
}

}  // namespace assay
