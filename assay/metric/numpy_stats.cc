#include "assay/metric/numpy_stats.h"

#include "assay/tensor/extremes.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double rounded_to(DType dtype, double value) {
  if (!std::isfinite(value)) return value;  // types without infinities would lose them
  std::byte element[sizeof(double)];
  from_f64(dtype, &value, 1, element);
  to_f64(dtype, element, 1, &value);
  return value;
}

int64_t to_integer(double value) {
  constexpr double kTooLarge = 9223372036854775808.0;  // 2^63
  return value >= kTooLarge ? INT64_MAX : static_cast<int64_t>(value);
}

Value extreme(DTypeKind kind, double value) {
  if (kind == DTypeKind::truth) return value != 0;
  if (kind == DTypeKind::real) return value;
  return to_integer(value);
}

double sum_of(const OneSide& side) {
  const int64_t plus_infs = side.infs - side.minus_infs;
  if (side.nans > 0 || (plus_infs > 0 && side.minus_infs > 0)) return kNan;
  if (side.infs > 0) return plus_infs > 0 ? kInfinity : -kInfinity;
  return side.sum;
}

Stats of_all(const OneSide& side, DType dtype) {
  Stats out;
  if (side.count == 0) return out;
  const DTypeKind kind = info(dtype).kind;
  // NumPy sums up everything but reals in f64.
  const DType arithmetic = kind == DTypeKind::real      ? dtype
                           : kind == DTypeKind::complex ? component(dtype)
                                                        : DType::f64;
  const double squares = side.nans > 0 ? kNan : side.infs > 0 ? kInfinity : side.sum_squares;
  out.norm = rounded_to(arithmetic, std::sqrt(rounded_to(arithmetic, squares)));
  if (kind == DTypeKind::complex) return out;
  const double max = side.infs > side.minus_infs ? kInfinity : side.finite > 0 ? side.max : -kInfinity;
  const double min = side.minus_infs > 0 ? -kInfinity : side.finite > 0 ? side.min : kInfinity;
  out.max = extreme(kind, side.nans > 0 ? kNan : max);
  out.min = extreme(kind, side.nans > 0 ? kNan : min);
  out.mean = rounded_to(arithmetic, sum_of(side) / static_cast<double>(side.count));
  return out;
}

// Whole numbers are all finite, so these are reals.
Scalar real_or_absent(const Value& value) {
  const auto* const real = std::get_if<double>(&value);
  return real != nullptr ? Scalar(*real) : Scalar();
}

}  // namespace

Stats numpy_statistics(const OneSide& side, DType dtype) {
  Stats out = of_all(side, dtype);
  out.nonfinite = {side.nans, side.infs, side.minus_infs};
  if (side.finite == 0 || side.finite == side.count) return out;
  OneSide others = side;
  others.count = side.finite;
  others.nans = others.infs = others.minus_infs = 0;
  const Stats finite = of_all(others, dtype);
  out.nonfinite.max = real_or_absent(finite.max);
  out.nonfinite.min = real_or_absent(finite.min);
  out.nonfinite.mean = real_or_absent(finite.mean);
  out.nonfinite.norm = real_or_absent(finite.norm);
  return out;
}

Result<void> add_exact_extremes(const Operand& data, Stats& stats) {
  const DType dtype = data.meta.dtype;
  if (dtype != DType::i64 && dtype != DType::u64) return {};
  ASSAY_TRY(const Extremes extremes, gather_extremes(data));
  if (extremes.is_empty) return {};
  const auto exact = [&](Bytes element) -> Value {
    const auto bits = load_le<uint64_t>(element);
    if (dtype == DType::u64 && bits > INT64_MAX) return std::to_string(bits);
    return static_cast<int64_t>(bits);
  };
  stats.max = exact(extremes.max);
  stats.min = exact(extremes.min);
  return {};
}

Stats exact_statistics(const OneSide& side, DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return numpy_statistics(side, kind == DTypeKind::real      ? DType::f64
                                : kind == DTypeKind::complex ? DType::c128
                                                             : dtype);
}

}  // namespace assay
