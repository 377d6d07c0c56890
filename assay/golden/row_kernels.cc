#include "assay/golden/kernels.h"

#include "assay/golden/bounded.h"
#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/golden/row_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/golden/functions-inl.h"

#include <algorithm>
#include <cfloat>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {
using namespace assay::tile::HWY_NAMESPACE;

using DFloats = hn::Rebind<float, D64>;  // as many floats as there are doubles in a V64

// Sums, norms, rope, softmax, and what is kept of a row. Plain loops become vectors by the compiler.

constexpr int64_t kSumLanes = 8;

template <class Term>
HWY_INLINE double SumInLanes(int64_t n, Term term) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
  for (; i < n; ++i) lanes[i % kSumLanes] += term(i);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

double Sum(const double* x, int64_t n) {
  return SumInLanes(n, [x](int64_t i) HWY_ATTR { return x[i]; });
}
double ProductSum(const double* x, const double* y, int64_t n) {
  return SumInLanes(n, [x, y](int64_t i) HWY_ATTR { return x[i] * y[i]; });
}

double SquareSumF32(const float* x, int64_t n) {
  return SumInLanes(
      n, [x](int64_t i) HWY_ATTR { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}

template <class F>
HWY_INLINE void EachPair(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, int64_t n,
                         double relative, double* HWY_RESTRICT values, double* HWY_RESTRICT errors, F f) {
  for (int64_t i = 0; i < n; ++i) {
    const double value = f(a[i], b[i]);
    values[i] = value;
    errors[i] = relative * std::abs(value);
  }
}

void Operate(Operation operation, const double* a, const double* b, int64_t n, double relative, Out out) {
  const auto each = [&](auto f) HWY_ATTR { EachPair(a, b, n, relative, out.values, out.errors, f); };
  switch (operation) {
    case Operation::add:
      return each([](double x, double y) HWY_ATTR { return x + y; });
    case Operation::subtract:
      return each([](double x, double y) HWY_ATTR { return x - y; });
    case Operation::multiply:
      return each([](double x, double y) HWY_ATTR { return x * y; });
    case Operation::divide:
      return each([](double x, double y) HWY_ATTR { return x / y; });
  }
}

void Multiply(const double* HWY_RESTRICT x, double factor, int64_t n, double relative, Out out) {
  double* HWY_RESTRICT values = out.values;
  double* HWY_RESTRICT errors = out.errors;
  for (int64_t i = 0; i < n; ++i) {
    const double value = x[i] * factor;
    values[i] = value;
    errors[i] = relative * std::abs(value);
  }
}

void CutNegative(double* values, int64_t n) {
  const D64 d;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const V64 each = hn::LoadU(d, values + i);
    hn::StoreU(hn::IfThenZeroElse(hn::Lt(each, hn::Zero(d)), each), d, values + i);
  }
  for (; i < n; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

void Negate(double* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = -values[i];
}

double Centre(const double* HWY_RESTRICT x, double mean, int64_t n, double* HWY_RESTRICT out) {
  return SumInLanes(n, [=](int64_t i) HWY_ATTR {
    const double each = x[i] - mean;
    out[i] = each;
    return each * each;
  });
}

void Weigh(const double* x, double factor, const double* HWY_RESTRICT weight, int64_t n, double relative,
           Out out) {
  double* HWY_RESTRICT values = out.values;
  double* HWY_RESTRICT errors = out.errors;
  for (int64_t i = 0; i < n; ++i) {
    const double value = x[i] * factor * weight[i];
    values[i] = value;
    errors[i] = std::abs(value) * relative;
  }
}

void NormCentred(const CentredRow& row, int64_t n, double unit, Out out) {
  const double* HWY_RESTRICT weight = row.weight;
  const double* HWY_RESTRICT bias = row.bias;
  double* HWY_RESTRICT values = out.values;
  double* HWY_RESTRICT errors = out.errors;
  const auto each = [&](auto added) HWY_ATTR {
    for (int64_t i = 0; i < n; ++i) {
      const double slope = weight[i] * row.inverse, product = errors[i] * slope, value = added(product, i);
      values[i] = value;
      errors[i] =
          std::abs(slope) * row.mean_error + std::abs(product) * row.relative_error + unit * std::abs(value);
    }
  };
  if (bias == nullptr)
    each([](double product, int64_t) HWY_ATTR { return product; });
  else
    each([bias](double product, int64_t i) HWY_ATTR { return product + bias[i]; });
}

void TurnHead(const double* HWY_RESTRICT x, const double* HWY_RESTRICT cos, const double* HWY_RESTRICT sin,
              int64_t head, int64_t block, double* HWY_RESTRICT direct, double* HWY_RESTRICT turned) {
  if (block == 2) {  // pairs, which turn by the angle of their even element
    for (int64_t i = 0; i < head; i += 2) {
      direct[i] = x[i] * cos[i];
      direct[i + 1] = x[i + 1] * cos[i];
      turned[i] = -x[i + 1] * sin[i];
      turned[i + 1] = x[i] * sin[i];
    }
    return;
  }
  const int64_t half = block / 2;
  for (int64_t first = 0; first < head; first += block) {
    for (int64_t i = first; i < first + half; ++i) turned[i] = -x[i + half] * sin[i];
    for (int64_t i = first + half; i < first + block; ++i) turned[i] = x[i - half] * sin[i];
  }
  for (int64_t i = 0; i < head; ++i) direct[i] = x[i] * cos[i];
}

void AddTurned(double unit, double least, int64_t n, Out out) {
  double* HWY_RESTRICT values = out.values;
  double* HWY_RESTRICT errors = out.errors;
  for (int64_t i = 0; i < n; ++i) {
    const double a = values[i], b = errors[i];
    values[i] = a + b;
    errors[i] = std::max(unit * std::abs(a), least) + std::max(unit * std::abs(b), least);
  }
}

// As f32, never less than the smallest normal one, and nothing for what is larger than all of them or no
// number: `allowance`, of vectors.
HWY_INLINE hn::Vec<DFloats> Allowance(V64 error) {
  const V64 most = Constant(double{FLT_MAX});
  const V64 kept = hn::IfThenElseZero(hn::Le(error, most), error);
  const V64 least = hn::IfThenElseZero(hn::Le(error, most), Constant(double{FLT_MIN}));
  const DFloats floats;
  return hn::Add(hn::DemoteTo(floats, kept), hn::DemoteTo(floats, least));
}

void KeepAllowed(const double* HWY_RESTRICT values, const double* HWY_RESTRICT errors, int64_t n,
                 double factor, double own, float* HWY_RESTRICT allowed) {
  const D64 d;
  const V64 times = Constant(factor), share = Constant(own);
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const V64 error = hn::Mul(times, hn::LoadU(d, errors + i));
    const V64 whole = hn::Add(error, hn::Mul(share, hn::Abs(hn::LoadU(d, values + i))));
    hn::StoreU(Allowance(whole), DFloats(), allowed + i);
  }
  for (; i < n; ++i) allowed[i] = allowance(factor * errors[i] + own * std::abs(values[i]));
}

void KeepShort(const double* HWY_RESTRICT values, const double* HWY_RESTRICT errors, int64_t n,
               float* HWY_RESTRICT to, float* HWY_RESTRICT allowed) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(values[i]);
  KeepAllowed(values, errors, n, 1, 0x1p-24, allowed);
}

// An error that is no number is the largest.
void KeepNarrow(const double* HWY_RESTRICT values, const double* HWY_RESTRICT errors, int64_t n,
                float* HWY_RESTRICT to, float* HWY_RESTRICT allowed) {
  constexpr double kMost = double{kAnything}, kRoundedUp = 1 + 1e-6;
  const D64 d;
  const DFloats floats;
  const V64 most = Constant(kMost);
  const auto keep = [&](V64 value, V64 error, float* values_to, float* errors_to) HWY_ATTR {
    const V64 away = hn::Abs(value);
    const V64 whole = hn::Mul(Fused(away, Constant(0x1p-24), error), Constant(kRoundedUp));
    const V64 bounded = hn::IfThenElse(hn::Lt(whole, most), whole, most);
    const V64 kept = hn::IfThenElseZero(hn::Lt(away, Constant(HUGE_VAL)), bounded);
    hn::StoreU(hn::DemoteTo(floats, value), floats, values_to);
    hn::StoreU(hn::DemoteTo(floats, kept), floats, errors_to);
  };
  int64_t i = 0;
  for (; i + kN <= n; i += kN) keep(hn::LoadU(d, values + i), hn::LoadU(d, errors + i), to + i, allowed + i);
  if (i == n) return;
  double rest[kN] = {}, of_rest[kN] = {};
  float rest_to[kN], of_rest_to[kN];
  std::copy(values + i, values + n, rest);
  std::copy(errors + i, errors + n, of_rest);
  keep(hn::LoadU(d, rest), hn::LoadU(d, of_rest), rest_to, of_rest_to);
  std::copy(rest_to, rest_to + (n - i), to + i);
  std::copy(of_rest_to, of_rest_to + (n - i), allowed + i);
}

// ----- softmax

// Powers e^(x - peak) into out.values, and x - peak into out.errors: 0 where there is no power. Gives the sum
// of the powers as an adder of f32 makes it, one after another: that takes as long as all else, and runs
// beside it.
float Powers(const double* HWY_RESTRICT x, int64_t n, double peak, Out out) {
  const V64 top = Constant(peak);
  float sum = 0;
  int64_t left = n;
  EachVector(x, n, out, [&](V64 each, V64& power, V64& below) HWY_ATTR {
    below = hn::Sub(each, top);
    power = ExpOrZero(below);
    below = hn::IfThenZeroElse(hn::Eq(power, hn::Zero(D64())), below);
    float terms[kN];
    hn::StoreU(hn::DemoteTo(DFloats(), power), DFloats(), terms);
    if (left >= kN)
      for (const float term : terms) sum += term;
    else
      for (int64_t i = 0; i < left; ++i) sum += terms[i];
    left -= kN;
  });
  return sum;
}

// NaN where there is one.
double Peak(const double* x, int64_t n) {
  const D64 d;
  V64 peak = Constant(-HUGE_VAL), sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const V64 each = hn::LoadU(d, x + i);
    peak = hn::IfThenElse(hn::Gt(each, peak), each, peak);
    sum = hn::IfThenElse(hn::IsNaN(each), each, sum);
  }
  double peaks[kN], nans[kN];
  hn::StoreU(peak, d, peaks);
  hn::StoreU(sum, d, nans);
  double largest = *std::max_element(peaks, peaks + kN), nan = 0;
  for (const double each : nans) nan += each;
  for (; i < n; ++i) {
    largest = x[i] > largest ? x[i] : largest;
    nan += x[i] == x[i] ? 0 : x[i];
  }
  return nan == nan ? largest : nan;
}

void SoftmaxRow(const double* HWY_RESTRICT x, int64_t n, double unit, Out out) {
  const double narrow = double{Powers(x, n, Peak(x, n), out)};
  const double sum = Sum(out.values, n), weighted = -ProductSum(out.values, out.errors, n);
  // Where terms are small beside their sum, an adder of f32 rounds them alike, which is no chance.
  const double by_chance = 2 * std::sqrt(static_cast<double>(n));
  const double seen = 2 * std::abs(narrow - sum) / (sum * unit);
  const double error = 12 + weighted / sum + std::max(by_chance, seen);
  const double share = 1 / sum;
  double* HWY_RESTRICT values = out.values;
  double* HWY_RESTRICT errors = out.errors;
  for (int64_t i = 0; i < n; ++i) {
    const double value = values[i] * share;
    values[i] = value;
    errors[i] = unit * value * (error - errors[i]);
  }
}

}  // namespace assay::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::kernel {

HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(Operate);
HWY_EXPORT(Multiply);
HWY_EXPORT(CutNegative);
HWY_EXPORT(Negate);
HWY_EXPORT(Centre);
HWY_EXPORT(Weigh);
HWY_EXPORT(NormCentred);
HWY_EXPORT(TurnHead);
HWY_EXPORT(AddTurned);
HWY_EXPORT(SquareSumF32);
HWY_EXPORT(KeepNarrow);
HWY_EXPORT(KeepShort);
HWY_EXPORT(KeepAllowed);
HWY_EXPORT(Sum);
HWY_EXPORT(ProductSum);

void softmax(const double* x, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, n, u, out);
}
void operate(Operation operation, const double* a, const double* b, int64_t n, double relative, Out out) {
  HWY_DYNAMIC_DISPATCH(Operate)(operation, a, b, n, relative, out);
}
void scale(const double* x, double factor, int64_t n, double relative, Out out) {
  HWY_DYNAMIC_DISPATCH(Multiply)(x, factor, n, relative, out);
}
void cut_negative(double* values, int64_t n) { HWY_DYNAMIC_DISPATCH(CutNegative)(values, n); }
void negate(double* values, int64_t n) { HWY_DYNAMIC_DISPATCH(Negate)(values, n); }
double centre(const double* x, double mean, int64_t n, double* out) {
  return HWY_DYNAMIC_DISPATCH(Centre)(x, mean, n, out);
}
void weighted(const double* x, double factor, const double* weight, int64_t n, double relative, Out out) {
  HWY_DYNAMIC_DISPATCH(Weigh)(x, factor, weight, n, relative, out);
}
void centred(const CentredRow& row, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(NormCentred)(row, n, u, out);
}
void turn_head(const double* x, const double* cos, const double* sin, int64_t head, int64_t block, Out out) {
  HWY_DYNAMIC_DISPATCH(TurnHead)(x, cos, sin, head, block, out.values, out.errors);
}
void add_turned(double unit, double least, int64_t n, Out out) {
  HWY_DYNAMIC_DISPATCH(AddTurned)(unit, least, n, out);
}
void keep_short(const double* values, const double* errors, int64_t n, float* to, float* allowed) {
  HWY_DYNAMIC_DISPATCH(KeepShort)(values, errors, n, to, allowed);
}
void keep_allowed(const double* values, const double* errors, int64_t n, double factor, double own,
                  float* allowed) {
  HWY_DYNAMIC_DISPATCH(KeepAllowed)(values, errors, n, factor, own, allowed);
}
double sum_of(const double* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(Sum)(x, n); }
double sum_of_products(const double* x, const double* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(ProductSum)(x, y, n);
}
double sum_of_squares(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(SquareSumF32)(x, n); }
double sum_of_squares(const double* x, int64_t n) { return sum_of_products(x, x, n); }
void keep_narrow(const double* values, const double* errors, int64_t n, float* to, float* allowed) {
  HWY_DYNAMIC_DISPATCH(KeepNarrow)(values, errors, n, to, allowed);
}

}  // namespace assay::kernel
#endif
