// Bounds: docs/operators.md, "SoftmaxOperation".
#include "assay/base/checked.h"
#include "assay/golden/bounded.h"
#include "assay/golden/families.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr int64_t kCostOfSoftmax = 25;

// Elements `first`, `first + step`, … of which there are `count`.
struct SoftmaxLine {
  int64_t first = 0, step = 1, count = 0;
  size_t at(int64_t i) const { return static_cast<size_t>(first + i * step); }
};

// exp(x - max) / sum, which one adder may make, one term after the other. Of the exponent the difference is
// rounded, so large negative ones err more; the sum inherits these errors in the proportion of its terms.
void softmax_line(const Numbers& x, const SoftmaxLine& line, double u, BoundedNumbers& out) {
  double largest = -HUGE_VAL;
  for (int64_t i = 0; i < line.count; ++i) {
    const double each = x.values[line.at(i)];
    largest = each > largest || std::isnan(each) ? each : largest;
    if (std::isnan(largest)) break;
  }
  double sum = 0, weighted = 0;
  float narrow = 0;  // where terms are small beside their sum, they are rounded alike, which is no chance
  for (int64_t i = 0; i < line.count; ++i) {
    const double below = x.values[line.at(i)] - largest, power = std::exp(below);
    out.value.values[line.at(i)] = power;
    sum += power;
    narrow += static_cast<float>(power);
    if (power > 0) weighted -= power * below;
  }
  const double by_chance = 2 * std::sqrt(static_cast<double>(line.count));
  const double seen = u == unit_roundoff(DType::f32) ? 2 * std::abs(double{narrow} - sum) / (sum * u) : 0;
  const double error = 12 + weighted / sum + std::max(by_chance, seen);
  for (int64_t i = 0; i < line.count; ++i) {
    const double value = out.value.values[line.at(i)] / sum, below = x.values[line.at(i)] - largest;
    const double far = value > 0 ? std::abs(below) : 0;
    put(out, static_cast<int64_t>(line.at(i)), {value, u * value * (error + far)});
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
  ASSAY_TRY(const Numbers x, numbers_of(call, 0));
  int64_t lines = 1, length = 1, step = 1;
  for (size_t d = 0; d < shape.dims.size(); ++d)
    (d < dims.front() ? lines : d <= dims.back() ? length : step) *= shape.dims[d];
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(shape));
  const double u = unit_of_arithmetic(dtype_of(call, 0));
  in_parallel(x.count() == 0 ? 0 : lines * step, kCostOfSoftmax * length, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      softmax_line(x, SoftmaxLine{i / step * step * length + i % step, step, length}, u, out);
  });
  return GoldenOutputs{expected(dtype_of(call, 0), std::move(out))};
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
    for (const int64_t end = at + *elements; at < end; at += length) rows.push_back({at, 1, length});
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
  const double u = unit_of_arithmetic(dtype_of(call, 0));
  return softmax_by_rows(call,
                         [&](const SoftmaxLine& row, BoundedNumbers& out) { softmax_line(x, row, u, out); });
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
