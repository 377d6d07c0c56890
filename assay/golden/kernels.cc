#include "assay/golden/kernels.h"

#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/golden/kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/golden/functions-inl.h"

#include <algorithm>
#include <cfloat>

HWY_BEFORE_NAMESPACE();
namespace assay::kernel::HWY_NAMESPACE {
using namespace assay::tile::HWY_NAMESPACE;

struct Bounds {
  V64 u;
  HWY_INLINE explicit Bounds(double unit) : u(Constant(unit)) {}
  // u s (6 + 2 |z| (1 - s)), and what is flushed to zero.
  HWY_INLINE V64 OfSigmoid(V64 z, V64 s) const {
    const V64 rest = hn::Mul(hn::Abs(z), hn::Sub(Constant(1), s));
    return hn::Add(hn::Mul(hn::Mul(u, s), Fused(Constant(2), rest, Constant(6))), Constant(double{FLT_MIN}));
  }
};

void Sigmoid(const double* x, int64_t n, double unit, Out out) {
  const Bounds bounds(unit);
  EachVector(x, n, out, [&](V64 z, V64& value, V64& error) HWY_ATTR {
    value = SigmoidOf(z).value;
    error = bounds.OfSigmoid(z, value);
  });
}

HWY_INLINE void SwishOf(const Bounds& bounds, V64 x, V64 z, V64& value, V64& error) {
  const V64 s = SigmoidOf(z).value;
  value = hn::Mul(x, s);
  error = Fused(hn::Abs(x), bounds.OfSigmoid(z, s), hn::Mul(hn::Add(bounds.u, bounds.u), hn::Abs(value)));
}

void Swish(const double* x, int64_t n, double scale, double unit, Out out) {
  const Bounds bounds(unit);
  const V64 factor = Constant(scale);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    SwishOf(bounds, each, hn::Mul(factor, each), value, error);
  });
}

void Swiglu(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, int64_t n, double unit, Out out) {
  Swish(a, n, 1, unit, out);
  for (int64_t i = 0; i < n; ++i) {
    const double value = out.values[i] * b[i];
    out.errors[i] = out.errors[i] * std::abs(b[i]) + unit * std::abs(value);
    out.values[i] = value;
  }
}

void GeluByTanh(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    const V64 cube = hn::Mul(hn::Mul(each, each), each);
    const V64 t = hn::Mul(Constant(0.79788456080286535588), Fused(Constant(0.044715), cube, each));
    const SigmoidParts s = SigmoidOf(hn::Add(t, t));
    value = hn::Mul(each, s.value);
    const V64 steep = hn::Mul(hn::Abs(t), hn::Mul(Constant(4), s.slope));
    const V64 slope = hn::IfThenElseZero(hn::Gt(s.slope, hn::Zero(D64())), steep);
    const V64 of_tanh =
        hn::Mul(hn::Mul(Constant(0.5), hn::Abs(each)), Fused(Constant(5), slope, Constant(5)));
    error = hn::Mul(u, Fused(Constant(3), hn::Abs(value), of_tanh));
  });
}

// erfc is off by 2^-28.6 of itself, in units of f32 2^-4.6.
constexpr double kOwnErrorOfErfc = 0x1p-4;

void GeluByErf(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    const ErfcParts parts = ErfcOfRoot(each);
    const V64 half = hn::Mul(Constant(0.5), parts.erfc);
    const V64 share = hn::IfThenElse(hn::Lt(each, hn::Zero(D64())), half, hn::Sub(Constant(1), half));
    value = hn::Mul(each, share);
    const V64 slope = hn::Mul(parts.t, parts.exponential);
    const V64 of_erf = hn::Mul(hn::Mul(Constant(0.5), hn::Abs(each)),
                               Fused(Constant(3), slope, Constant(12 + kOwnErrorOfErfc)));
    error = hn::Mul(u, Fused(Constant(3), hn::Abs(value), of_erf));
  });
}

// x exp(0.851 (x - |x|)) / (1 + exp(-1.702 |x|)) is x sigmoid(1.702 x).
void FastGelu(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    const V64 away = hn::Abs(each);
    const V64 share = SigmoidOf(hn::Mul(Constant(1.702), each)).value;
    // Infinity less itself is NaN in the formula, too.
    value = Fused(hn::Sub(each, away), hn::Zero(D64()), hn::Mul(each, share));
    const V64 relative = hn::Mul(u, Fused(Constant(6), away, Constant(12)));
    error = Fused(away, Constant(double{FLT_MIN}), hn::Mul(relative, hn::Abs(value)));
  });
}

void Logarithm(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    value = LogOf(each);
    error = hn::Mul(u, Fused(Constant(4), hn::Abs(value), Constant(1)));
  });
}

void Tanh(const double* x, int64_t n, double unit, Out out) {
  const V64 five_units = Constant(5 * unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    value = TanhOf(each);
    error = hn::Mul(five_units, hn::Abs(value));
  });
}

// A vector with an angle that is farther, or none, takes the long way.
template <class F>
HWY_INLINE V64 OrOneByOne(V64 x, V64 value, F one) {
  const D64 d;
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), Constant(kFarthestAngle)))) return value;
  double each[kN];
  hn::StoreU(x, d, each);
  for (double& number : each) number = one(number);
  return hn::LoadU(d, each);
}

void Sine(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    value = OrOneByOne(each, SineOf(each), [](double number) { return std::sin(number); });
    const V64 of_angle = hn::Mul(Constant(2), hn::Min(Constant(1), hn::Abs(each)));
    error = hn::Mul(u, Fused(Constant(4), hn::Abs(value), of_angle));
  });
}

void Cosine(const double* x, int64_t n, double unit, Out out) {
  const V64 u = Constant(unit);
  EachVector(x, n, out, [&](V64 each, V64& value, V64& error) HWY_ATTR {
    value = OrOneByOne(each, CosineOf(each), [](double number) { return std::cos(number); });
    error = hn::Mul(u, Fused(Constant(4), hn::Abs(value), Constant(2)));
  });
}

}  // namespace assay::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::kernel {

HWY_EXPORT(Sigmoid);
HWY_EXPORT(Swish);
HWY_EXPORT(Swiglu);
HWY_EXPORT(GeluByTanh);
HWY_EXPORT(GeluByErf);
HWY_EXPORT(FastGelu);
HWY_EXPORT(Logarithm);
HWY_EXPORT(Tanh);
HWY_EXPORT(Sine);
HWY_EXPORT(Cosine);

void sigmoid(const double* x, int64_t n, double u, Out out) { HWY_DYNAMIC_DISPATCH(Sigmoid)(x, n, u, out); }
void swish(const double* x, int64_t n, double scale, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(Swish)(x, n, scale, u, out);
}
void swiglu(const double* a, const double* b, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(Swiglu)(a, b, n, u, out);
}
void gelu_by_tanh(const double* x, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(GeluByTanh)(x, n, u, out);
}
void gelu_by_erf(const double* x, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(GeluByErf)(x, n, u, out);
}
void fast_gelu(const double* x, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(FastGelu)(x, n, u, out);
}
void logarithm(const double* x, int64_t n, double u, Out out) {
  HWY_DYNAMIC_DISPATCH(Logarithm)(x, n, u, out);
}
void tanh(const double* x, int64_t n, double u, Out out) { HWY_DYNAMIC_DISPATCH(Tanh)(x, n, u, out); }
void sine(const double* x, int64_t n, double u, Out out) { HWY_DYNAMIC_DISPATCH(Sine)(x, n, u, out); }
void cosine(const double* x, int64_t n, double u, Out out) { HWY_DYNAMIC_DISPATCH(Cosine)(x, n, u, out); }

}  // namespace assay::kernel
#endif
