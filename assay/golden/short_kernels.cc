#include "assay/golden/short_kernels.h"

#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/golden/short_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/golden/functions_f32-inl.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {

constexpr float kUnit = 0x1p-24F;
// Own errors, in units: e^x of ExpOfNegative; erfc of itself (short_kernels_test.cc measures it at every f16
// and bf16); sums of up to 64 powers, 4 one after another in each lane.
constexpr float kOfPower = 2, kOfErfc = 8, kOfSum = 4;
constexpr int64_t kSummed = 64;  // in f32, before f64 takes over

HWY_INLINE VF ConstantF(float value) { return hn::Set(DF(), value); }

// `error` and what rounding to f32 costs; nothing where the value is no finite number.
HWY_INLINE VF AllowedF(VF value, VF error) {
  const VF whole = hn::Add(hn::Add(error, hn::Mul(ConstantF(kUnit), hn::Abs(value))), ConstantF(FLT_MIN));
  return hn::IfThenElseZero(hn::Le(whole, ConstantF(FLT_MAX)), whole);
}

// `f(x, value, error)` of each vector; what is left at the end is padded with ones.
template <class F>
HWY_INLINE void EachVectorF(const float* HWY_RESTRICT x, int64_t n, ShortOut out, F f) {
  const DF d;
  int64_t i = 0;
  VF value, error;
  for (; i + kNF <= n; i += kNF) {
    f(hn::LoadU(d, x + i), value, error);
    hn::StoreU(value, d, out.values + i);
    hn::StoreU(AllowedF(value, error), d, out.allowed + i);
  }
  if (i == n) return;
  float rest[kNF], values[kNF], errors[kNF];
  std::fill_n(rest, kNF, 1.0F);
  std::copy(x + i, x + n, rest);
  f(hn::LoadU(d, rest), value, error);
  hn::StoreU(value, d, values);
  hn::StoreU(AllowedF(value, error), d, errors);
  std::copy(values, values + (n - i), out.values + i);
  std::copy(errors, errors + (n - i), out.allowed + i);
}

// As functions-inl.h has it: erfc(t) e^(t²) (1 + 2 t) is smooth in (t - 3) / (t + 3). Squares of 16-bit
// numbers are exact.
void GeluByErf(const float* x, int64_t n, ShortOut out) {
  constexpr float kScaled[] = {0x1.1f3084p-14F, -0x1.b22088p-14F, -0x1.75dcf4p-11F, 0x1.f0448ap-10F,
                               0x1.46a83ap-9F,  -0x1.858338p-6F,  0x1.17d498p-4F,   -0x1.e88aa4p-4F,
                               0x1.0982cep-3F,  -0x1.85a17cp-5F,  -0x1.15c080p-3F,  0x1.40c522p+0F};
  EachVectorF(x, n, out, [&](VF each, VF& value, VF& error) HWY_ATTR {
    const VF away = hn::Min(hn::Abs(each), ConstantF(13.3F));  // beyond, e^(-x²/2) is no number of f32
    const VF square = hn::Mul(hn::Mul(away, away), ConstantF(0.5F));
    const VF e = ExpOfNegative(hn::Neg(square));
    const VF t = hn::Mul(away, ConstantF(0.70710678F));
    const VF shifted = hn::Add(t, ConstantF(3)), scale = hn::Add(hn::Add(t, t), ConstantF(1));
    const VF inverse = hn::Div(ConstantF(1), hn::Mul(shifted, scale));  // of both at once
    const VF place = hn::Mul(hn::Mul(hn::Sub(t, ConstantF(3)), scale), inverse);
    VF sum = ConstantF(kScaled[0]);
    for (int k = 1; k < 12; ++k) sum = hn::Add(hn::Mul(sum, place), ConstantF(kScaled[k]));
    const VF half = hn::Mul(ConstantF(0.5F), hn::Mul(sum, hn::Mul(hn::Mul(e, shifted), inverse)));
    const VF share = hn::IfThenElse(hn::Lt(each, hn::Zero(DF())), half, hn::Sub(ConstantF(1), half));
    value = hn::Mul(each, share);
    const VF slope = hn::Mul(t, e), units = hn::Mul(ConstantF(kUnit), hn::Abs(each));
    const VF of_erf = hn::Add(hn::Mul(ConstantF(1.5F), slope), ConstantF(6));
    error = hn::Add(hn::Mul(units, hn::Add(of_erf, hn::Mul(ConstantF(kOfErfc), half))),
                    hn::Mul(ConstantF(4 * kUnit), hn::Abs(value)));
  });
}

// NaN where there is one.
float Peak(const float* x, int64_t n) {
  const DF d;
  LanesF peak(kMinusInfinity), nan(0);
  int64_t i = 0;
  for (; i + kLanesF <= n; i += kLanesF)
    for (int k = 0; k < kVecsF; ++k) {
      const VF each = hn::LoadU(d, x + i + k * kNF);
      peak.v[k] = hn::IfThenElse(hn::Gt(each, peak.v[k]), each, peak.v[k]);
      nan.v[k] = hn::IfThenElse(hn::IsNaN(each), each, nan.v[k]);
    }
  float peaks[kLanesF];
  peak.StoreTo(peaks);
  float largest = *std::max_element(peaks, peaks + kLanesF), any = nan.Total();
  for (; i < n; ++i) {
    largest = x[i] > largest ? x[i] : largest;
    any += x[i] == x[i] ? 0 : x[i];
  }
  return any == any ? largest : any;
}

// Sums of e^(x - peak), of these times the distance, and the first as an adder of f32 makes it, one after
// another: that takes as long as all else, and runs beside it.
struct PowerSums {
  double powers = 0, weighted = 0;
  float narrow = 0;
};

PowerSums Powers(const float* HWY_RESTRICT x, int64_t n, float peak, float* HWY_RESTRICT powers) {
  const DF d;
  const VF top = hn::Set(d, peak);
  PowerSums sums;
  float padded[kSummed];
  for (int64_t first = 0; first < n; first += kSummed) {
    const int64_t count = std::min(kSummed, n - first);
    const float* from = x + first;
    if (count < kSummed) {
      std::copy_n(from, count, padded);
      std::fill(padded + count, padded + kSummed, kMinusInfinity);  // no power
      from = padded;
    }
    LanesF sum(0), weighted(0);
    float each[kSummed];
    for (int64_t i = 0; i < kSummed; i += kLanesF)
      for (int k = 0; k < kVecsF; ++k) {
        const VF below = hn::Sub(hn::LoadU(d, from + i + k * kNF), top);
        const VF power = ExpOfNegative(below);
        hn::StoreU(power, d, each + i + k * kNF);
        sum.v[k] = hn::Add(sum.v[k], power);
        const VF far = hn::IfThenZeroElse(hn::Eq(power, hn::Zero(d)), below);
        weighted.v[k] = hn::Sub(weighted.v[k], hn::Mul(power, far));
      }
    for (const float power : each) sums.narrow += power;
    std::copy_n(each, count, powers + first);
    sums.powers += static_cast<double>(sum.Total());
    sums.weighted += static_cast<double>(weighted.Total());
  }
  return sums;
}

void SoftmaxRow(const float* HWY_RESTRICT x, int64_t n, ShortOut out) {
  const float peak = Peak(x, n);
  const PowerSums sums = Powers(x, n, peak, out.values);
  // Where terms are small beside their sum, an adder of f32 rounds them alike, which is no chance.
  const double by_chance = 2 * std::sqrt(static_cast<double>(n));
  const double seen =
      2 * std::abs(static_cast<double>(sums.narrow) - sums.powers) / (sums.powers * double{kUnit});
  const double own = kOfPower + 1 + kOfPower + kOfSum + 2;  // power, distance; sum; quotient
  const double error = 12 + own + 2 * sums.weighted / sums.powers + std::max(by_chance, seen);
  const VF share = ConstantF(static_cast<float>(1 / sums.powers)),
           bound = ConstantF(static_cast<float>(error));
  const VF unit = ConstantF(kUnit), top = ConstantF(peak), zero = hn::Zero(DF());
  const auto finish = [&](const float* of, float* values, float* allowed) HWY_ATTR {
    const DF d;
    const VF power = hn::LoadU(d, values), value = hn::Mul(power, share);
    const VF far = hn::IfThenZeroElse(hn::Eq(power, zero), hn::Sub(top, hn::LoadU(d, of)));
    hn::StoreU(value, d, values);
    const VF units = hn::Add(bound, hn::Add(far, far));  // theirs and our own
    hn::StoreU(AllowedF(value, hn::Mul(hn::Mul(unit, value), units)), d, allowed);
  };
  int64_t i = 0;
  for (; i + kNF <= n; i += kNF) finish(x + i, out.values + i, out.allowed + i);
  if (i == n) return;
  float of[kNF] = {}, values[kNF] = {}, allowed[kNF];
  std::copy(x + i, x + n, of);
  std::copy(out.values + i, out.values + n, values);
  finish(of, values, allowed);
  std::copy(values, values + (n - i), out.values + i);
  std::copy(allowed, allowed + (n - i), out.allowed + i);
}

}  // namespace assay::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::kernel {

HWY_EXPORT(GeluByErf);
HWY_EXPORT(SoftmaxRow);

void gelu_by_erf_short(const float* x, int64_t n, ShortOut out) {
  HWY_DYNAMIC_DISPATCH(GeluByErf)(x, n, out);
}
void softmax_short(const float* x, int64_t n, ShortOut out) { HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, n, out); }

}  // namespace assay::kernel
#endif
