// Bounds: docs/operators.md, "SoftmaxOperation".
#include "assay/base/checked.h"
#include "assay/golden/bounded.h"
#include "assay/golden/families.h"
#include "assay/golden/streamed.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr int64_t kCostOfSoftmax = 25;

// Elements from `first` on, of which there are `count`.
struct SoftmaxLine {
  int64_t first = 0, count = 0;
  size_t at(int64_t i) const { return static_cast<size_t>(first + i); }
};

// exp(x - max) / sum, which one adder may make, one term after the other. Of the exponent the difference is
// rounded, so large negative ones err more; the sum inherits these errors in the proportion of its terms.
void softmax_row(const double* x, int64_t count, DType dtype, double* values, double* errors) {
  const double u = unit_of_arithmetic(dtype);
  if (dtype != DType::f64) {
    kernel::softmax(x, count, u * kernel::kOwnErrorInUnits, {values, errors});
    return;
  }
  double largest = -HUGE_VAL;
  for (int64_t i = 0; i < count; ++i) {
    largest = x[i] > largest || std::isnan(x[i]) ? x[i] : largest;
    if (std::isnan(largest)) break;
  }
  double sum = 0, weighted = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double below = x[i] - largest, power = std::exp(below);
    values[i] = power;
    sum += power;
    if (power > 0) weighted -= power * below;
  }
  const double error = 12 + weighted / sum + 2 * std::sqrt(static_cast<double>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] /= sum;
    errors[i] = u * values[i] * (error + (values[i] > 0 ? std::abs(x[i] - largest) : 0));
  }
}

// y (dy - sum of y dy)
void softmax_grad_line(const Numbers& y, const Numbers& dy, const SoftmaxLine& line, double u,
                       BoundedNumbers& out) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < line.count; ++i) {
    const double term = y.values[line.at(i)] * dy.values[line.at(i)];
    sum += term;
    squares += term * term;
  }
  const double error = u * (8 * std::sqrt(static_cast<double>(line.count) * squares) + std::abs(sum));
  for (int64_t i = 0; i < line.count; ++i) {
    const double p = y.values[line.at(i)], rest = dy.values[line.at(i)] - sum, value = p * rest;
    put(out, static_cast<int64_t>(line.at(i)),
        {value, std::abs(p) * error + 3 * u * (std::abs(value) + std::abs(p * sum))});
  }
}

Result<GoldenOutputs> softmax(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const std::vector<int64_t> axes, call.params.integers({"axes"}));
  if (axes.empty()) return fail(ErrorKind::bad_argument, "the parameter axes names no dimension");
  const Shape& shape = shape_of(call, 0);
  std::vector<size_t> dims;
  for (const int64_t axis : axes) {
    ASSAY_TRY(const size_t dim, dimension(shape, axis, "axes"));
    if (!dims.empty() && dim != dims.back() + 1)
      return fail(ErrorKind::bad_argument, "the dimensions that axes names do not follow one another");
    dims.push_back(dim);
  }
  int64_t length = 1, step = 1;
  for (size_t d = dims.front(); d < shape.dims.size(); ++d)
    (d <= dims.back() ? length : step) *= shape.dims[d];
  const DType dtype = dtype_of(call, 0);
  const auto compute = [=](int64_t, int64_t count, const double* const* in, double* values, double* errors) {
    if (step == 1) return softmax_row(in[0], count, dtype, values, errors);
    std::vector<double> room(static_cast<size_t>(3 * length));
    double *const x = room.data(), *const y = x + length, *const error = y + length;
    for (int64_t line = 0; line < step; ++line) {
      for (int64_t i = 0; i < length; ++i) x[i] = in[0][i * step + line];
      softmax_row(x, length, dtype, y, error);
      for (int64_t i = 0; i < length; ++i) values[i * step + line] = y[i];
      for (int64_t i = 0; i < length; ++i) errors[i * step + line] = error[i];
    }
  };
  ComputeShort of_short;
  if (step == 1)
    of_short = [](int64_t, int64_t count, const float* const* in, kernel::ShortOut out) {
      kernel::softmax_short(in[0], count, out);
    };
  ASSAY_TRY(Expected out, streamed(call, {call.in[0]}, std::max<int64_t>(1, length * step), kCostOfSoftmax,
                                   compute, std::move(of_short)));
  return GoldenOutputs{std::move(out)};
}

// ----- of the scores of attention: headNum squares for each sample, of its length

// The first element of each row, of all samples, and its length.
Result<std::vector<SoftmaxLine>> rows_of_squares(const GoldenCall& call) {
  ASSAY_TRY(const int64_t heads, call.params.integer({"headNum"}));
  ASSAY_TRY(const std::vector<int64_t> lengths, call.params.integers({"qSeqLen"}));
  const int64_t count = shape_of(call, 0).count();
  std::vector<SoftmaxLine> rows;
  int64_t at = 0;
  for (const int64_t length : lengths) {
    const auto elements =
        heads < 0 || length < 0 ? std::nullopt : checked_product(std::vector<int64_t>{heads, length, length});
    if (!elements || *elements > count - at)
      return fail(ErrorKind::mismatch, "{} heads of length {} do not fit into the {} elements of input 0",
                  heads, length, count);
    for (const int64_t end = at + *elements; at < end; at += length) rows.push_back({at, length});
  }
  if (at != count)
    return fail(ErrorKind::mismatch, "headNum and qSeqLen tell of {} elements, input 0 has {}", at, count);
  return rows;
}

template <class Compute>
Result<GoldenOutputs> softmax_by_rows(const GoldenCall& call, Compute compute) {
  ASSAY_TRY(const std::vector<SoftmaxLine> rows, rows_of_squares(call));
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(shape_of(call, 0)));
  const int64_t cost = rows.empty() ? 1 : kCostOfSoftmax * rows.front().count;
  in_parallel(std::ssize(rows), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) compute(rows[static_cast<size_t>(i)], out);
  });
  return GoldenOutputs{expected(dtype_of(call, 0), std::move(out))};
}

Result<GoldenOutputs> fast_softmax(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 1, 1));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(const Numbers x, numbers_of(call, 0));
  return softmax_by_rows(call, [&](const SoftmaxLine& row, BoundedNumbers& out) {
    std::vector<double> errors(static_cast<size_t>(row.count));
    softmax_row(x.values.data() + row.first, row.count, dtype_of(call, 0),
                out.value.values.data() + row.first, errors.data());
    std::ranges::transform(errors, out.allowed.begin() + row.first, allowance);
  });
}

Result<GoldenOutputs> fast_softmax_grad(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY_DO(check_same_type(call, 1));
  ASSAY_TRY(const Numbers y, numbers_of(call, 0));
  ASSAY_TRY(const Numbers dy, numbers_of(call, 1));
  if (y.count() != dy.count())
    return fail(ErrorKind::mismatch, "softmax and gradient have shapes {} and {}", y.shape.text(),
                dy.shape.text());
  const double u = unit_of_arithmetic(dtype_of(call, 0));
  return softmax_by_rows(
      call, [&](const SoftmaxLine& row, BoundedNumbers& out) { softmax_grad_line(y, dy, row, u, out); });
}

constexpr GoldenOp kSoftmaxes[] = {
    {"SoftmaxOperation", softmax, "softmax over one dimension, or several that follow one another"},
    {"FastSoftMaxOperation", fast_softmax, "softmax of each row of the scores of samples of several lengths"},
    {"FastSoftMaxGradOperation", fast_softmax_grad, "the gradient of FastSoftMax from its output"},
};

}  // namespace

GoldenFamily golden_softmaxes() { return kSoftmaxes; }

}  // namespace assay
