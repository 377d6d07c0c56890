// Bounds: docs/operators.md, "RmsNormBackwardOperation".
#include "assay/golden/norms.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

struct RmsForward {
  Numbers dy, x, inverse, gamma;
  int64_t rows() const { return gamma.count() == 0 ? 0 : x.count() / gamma.count(); }
  int64_t width() const { return gamma.count(); }
};

Result<RmsForward> forward_of(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 4, 4));
  ASSAY_TRY_DO(check_real(call, 0));
  RmsForward f;
  ASSAY_TRY(f.dy, numbers_of(call, 0));
  ASSAY_TRY(f.x, numbers_of(call, 1));
  ASSAY_TRY(f.inverse, numbers_of(call, 2));
  ASSAY_TRY(f.gamma, numbers_of(call, 3));
  const std::vector<int64_t>&x = f.x.shape.dims, &gamma = f.gamma.shape.dims;
  const bool fits = gamma.size() <= x.size() && std::equal(gamma.rbegin(), gamma.rend(), x.rbegin());
  if (f.dy.shape != f.x.shape || !fits || f.inverse.count() != f.rows())
    return fail(ErrorKind::mismatch, "dy {}, x {}, rstd {} and gamma {} do not fit", f.dy.shape.text(),
                f.x.shape.text(), f.inverse.shape.text(), f.gamma.shape.text());
  return f;
}

// dy g r - x r³ mean(dy g x)
void gradient_of_row(const RmsForward& f, int64_t row, double u, BoundedNumbers& dx) {
  const int64_t n = f.width();
  const double r = f.inverse.values[static_cast<size_t>(row)];
  const double* const dy = f.dy.values.data() + row * n;
  const double* const x = f.x.values.data() + row * n;
  const double* const g = f.gamma.values.data();
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double term = dy[i] * g[i] * x[i];
    sum += term;
    squares += term * term;
  }
  const auto count = static_cast<double>(n);
  const double mean = sum * r * r * r / count;
  const double error =
      u * (8 * std::sqrt(count * squares) * std::abs(r * r * r) / count + 6 * std::abs(mean));
  for (int64_t i = 0; i < n; ++i) {
    const double direct = dy[i] * g[i] * r, back = mean * x[i];
    put(dx, row * n + i,
        {direct - back, u * (4 * std::abs(direct) + 3 * std::abs(back)) + std::abs(x[i]) * error});
  }
}

}  // namespace

Result<GoldenOutputs> rms_norm_backward(const GoldenCall& call) {
  ASSAY_TRY(const RmsForward f, forward_of(call));
  const DType dtype = dtype_of(call, 0);
  const double u = unit_of_arithmetic(dtype), rounded = unit_roundoff(dtype);
  ASSAY_TRY(BoundedNumbers dx, zeros_with_bounds(f.x.shape));
  in_parallel(f.rows(), 16 * f.width(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) gradient_of_row(f, row, u, dx);
  });
  // Sum over the rows of dy x r, where x r, and the product, may be rounded to the type of the weight. Below
  // the normal numbers of f16 that costs half of its smallest step, however small they are.
  const double least = dtype == DType::f16 ? 0x1p-25 : 0;
  ASSAY_TRY(BoundedNumbers dgamma, zeros_with_bounds(f.gamma.shape));
  const int64_t n = f.width();
  in_parallel(n, 4 * f.rows(), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0, squares = 0, sizes = 0, least_sizes = 0, least_squares = 0;
      for (int64_t row = 0; row < f.rows(); ++row) {
        const auto at = static_cast<size_t>(row * n + c);
        const double term = f.dy.values[at] * f.x.values[at] * f.inverse.values[static_cast<size_t>(row)];
        sum += term;
        squares += term * term;
        sizes += std::abs(term);
        least_sizes += std::abs(f.dy.values[at]) + 1;  // x r is multiplied by dy, the product is as it is
        least_squares += f.dy.values[at] * f.dy.values[at] + 1;
      }
      const double root = std::sqrt(squares), more = std::sqrt(static_cast<double>(f.rows()));
      // Each rounding is off by 0.42 units of its term on average, two of them by 0.6: six times that.
      const double of_terms = rounded * std::min(2.1 * sizes, 3.6 * root) +
                              least * std::min(least_sizes, 3.5 * std::sqrt(least_squares));
      put(dgamma, c, {sum, 8 * u * more * root + of_terms + u * std::abs(sum)});
    }
  });
  GoldenOutputs outs;
  const bool is_wide = !call.out.empty() && call.out[0].dtype == DType::f32;
  outs.push_back(expected(is_wide ? DType::f32 : dtype, std::move(dx)));
  outs.push_back(expected(DType::f32, std::move(dgamma)));
  return outs;
}

}  // namespace assay
