// Numbers with the error that honest arithmetic may have made on the way to each of them.
#pragma once

#include "assay/golden/numbers.h"

#include <cfloat>
#include <utility>

namespace assay {

struct Approx {
  double value = 0;
  double error = 0;  // how far it may be off; not the rounding to the type it is written in
};

struct BoundedNumbers {
  Numbers value;
  std::vector<float> allowed = {};  // one for each of `value`; empty: it is exact

  double error(int64_t i) const {
    return allowed.empty() ? 0.0 : static_cast<double>(allowed[static_cast<size_t>(i)]);
  }
};

// As many zeros as the shape has places.
Result<BoundedNumbers> zeros_with_bounds(const Shape& shape);

// What may be allowed: never less than the smallest normal f32, which processors may flush to zero. Where the
// value is no finite number, nothing is.
inline float allowance(double error) {
  return error <= double{FLT_MAX} ? static_cast<float>(error) + FLT_MIN : 0.0F;
}

inline void put(BoundedNumbers& out, int64_t i, Approx approx) {
  out.value.values[static_cast<size_t>(i)] = approx.value;
  out.allowed[static_cast<size_t>(i)] = allowance(approx.error);
}

// `f(x)` of each number; it costs about `cost` operations.
template <class F>
BoundedNumbers mapped(const Numbers& x, int64_t cost, F f) {
  BoundedNumbers out{{x.shape, std::vector<double>(x.values.size())}, std::vector<float>(x.values.size())};
  in_parallel(x.count(), cost, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) put(out, i, f(x.values[static_cast<size_t>(i)]));
  });
  return out;
}

// Rounded to `dtype`, where f64 is not rounded once more: there the error also holds our own.
Expected expected(DType dtype, BoundedNumbers value);
// To int8: the nearest whole number between -128 and 127, half to even. Nobody can tell what becomes of a
// NaN.
Expected expected_int8(BoundedNumbers value);
// Numbers that `dtype` holds exactly, or that are rounded to it in one well-defined step.
Expected exactly_rounded(DType dtype, const Numbers& value);
// Leaves out the elements where `is_known` is 0; nothing where all are known.
void leave_out(Expected& output, const std::vector<uint8_t>& is_known, std::string why);

// An error where an input is missing or is not of floating point.
Result<void> check_real(const GoldenCall& call, size_t i);
// An error where an input has not the type of the first one.
Result<void> check_same_type(const GoldenCall& call, size_t i);

// Of n numbers, in lanes that add independently: fast, and the same on every processor.
double sum_of(const double* x, int64_t n);
double sum_of_products(const double* x, const double* y, int64_t n);

}  // namespace assay
