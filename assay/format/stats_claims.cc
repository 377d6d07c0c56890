#include "assay/format/stats_claims.h"

#include "assay/model/scalar_of.h"
#include "assay/tensor/dtype_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace assay {
namespace {

using Number = std::optional<double>;

// What sums in f64 may be off by, and extremes beyond 2^53 in files of earlier versions.
constexpr double kRounding = 1e-9;
// Squares of larger and of smaller numbers than these overflow, or vanish.
constexpr double kLargeToSquare = 1e140, kSmallToSquare = 1e-140;

Number number_in(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return number_of(scalar_of(value));
}

Number number_in(const Scalar& scalar) { return number_of(scalar); }

struct Four {
  Number max, min, mean, norm;
  bool says_nothing() const { return !max && !min && !mean && !norm; }
  double largest() const { return std::max(std::abs(max.value_or(0)), std::abs(min.value_or(0))); }
};

// The smallest and the largest number of a type.
struct Ends {
  double first, last;
};

Ends ends_of(DType dtype) {
  const DTypeInfo& type = info(dtype);
  switch (type.kind) {
    case DTypeKind::truth:
      return {0, 1};
    case DTypeKind::integer:
      return {-std::ldexp(1.0, type.storage_bits - 1), std::ldexp(1.0, type.storage_bits - 1) - 1};
    case DTypeKind::natural:
      return {0, std::ldexp(1.0, type.storage_bits) - 1};
    default:
      return {-limits_of(dtype).largest, limits_of(dtype).largest};
  }
}

// Of elements that are all finite.
class Claims {
 public:
  // zeros: -1 where they were not counted.
  Claims(DType dtype, const Four& four, int64_t count, int64_t zeros)
      : dtype_(dtype),
        is_whole_(!is_real(dtype) && !is_complex(dtype)),
        four_(four),
        count_(static_cast<double>(count)),
        zeros_(zeros),
        others_(static_cast<double>(zeros < 0 ? count : count - zeros)) {}

  std::string contradiction() const {
    for (auto check :
         {&Claims::of_numbers, &Claims::of_extremes, &Claims::of_zeros, &Claims::of_mean, &Claims::of_norm})
      if (std::string why = (this->*check)(); !why.empty()) return why;
    return {};
  }

 private:
  std::string of_numbers() const {
    for (const Number& each : {four_.max, four_.min, four_.mean})
      if (each && !std::isfinite(*each)) return fmt::format("{} of elements that are all finite", *each);
    if (four_.norm && !(*four_.norm >= 0)) return fmt::format("its norm is {}", *four_.norm);
    return {};
  }

  std::string of_extremes() const {
    const auto [first, last] = ends_of(dtype_);
    for (const Number& each : {four_.max, four_.min}) {
      if (!each || is_complex(dtype_)) continue;
      const double room = kRounding * std::max(std::abs(first), std::abs(last));
      if (is_whole_ && *each != std::floor(*each)) return fmt::format("an element of it is {}", *each);
      if (*each < first - room || *each > last + room)
        return fmt::format("an element of it is {}: {} ends at {} and {}", *each, name(dtype_), first, last);
    }
    if (four_.max && four_.min && *four_.max < *four_.min)
      return fmt::format("its largest element {} is below its smallest {}", *four_.max, *four_.min);
    return {};
  }

  std::string of_zeros() const {
    if (zeros_ < 0) return {};
    const bool has_ends = four_.max && four_.min;
    if (zeros_ > 0 && has_ends && (*four_.min > 0 || *four_.max < 0))
      return fmt::format("{} zeros outside of its elements, which go from {} to {}", zeros_, *four_.min,
                         *four_.max);
    if (zeros_ == 0 && (four_.max == 0.0 || four_.min == 0.0))
      return "an element of it is 0, and it counts no zeros";
    // What is not zero: the largest and the smallest element, and what the norm is made of.
    const int at_least = (has_ends && *four_.max != 0 ? 1 : 0) +
                         (has_ends && *four_.min != 0 && *four_.min != *four_.max ? 1 : 0);
    const bool is_all_zero = has_ends ? at_least == 0 : four_.norm == 0.0;
    if (is_all_zero ? others_ > 0 && (has_ends || !may_vanish()) : others_ < at_least)
      return fmt::format("{} of {} elements are zeros, beside these extremes", zeros_, count_);
    if (others_ == 0 && (four_.norm.value_or(0) > 0 || four_.mean.value_or(0) != 0))
      return "its norm or mean is not that of zeros";
    return {};
  }

  std::string of_mean() const {
    if (!four_.mean || !four_.max || !four_.min) return {};
    const double room = kRounding * four_.largest(), mean = *four_.mean, share = others_ / count_;
    // Zeros leave the sum to the others.
    const double most = *four_.max > 0 ? *four_.max * share : *four_.max;
    const double least = *four_.min < 0 ? *four_.min * share : *four_.min;
    if (mean > *four_.max + room)
      return fmt::format("its mean {} is above its largest element {}", mean, *four_.max);
    if (mean < *four_.min - room)
      return fmt::format("its mean {} is below its smallest element {}", mean, *four_.min);
    if (mean > most + room || mean < least - room)
      return fmt::format("its mean {} is larger than that of {} elements beside {} zeros can be", mean,
                         others_, zeros_);
    return {};
  }

  std::string of_norm() const {
    if (!four_.norm || others_ == 0) return {};
    const double norm = *four_.norm, largest = four_.largest();
    if (is_whole_ && zeros_ >= 0 && norm * norm < others_ * (1 - kRounding))
      return fmt::format("its norm {} is below that of {} whole numbers that are not zero", norm, others_);
    if (!four_.max || !four_.min || largest < kSmallToSquare || largest > kLargeToSquare) return {};
    // In units of the largest element.
    const double squares = norm / largest * (norm / largest);
    const double max = *four_.max / largest, min = *four_.min / largest;
    const double of_extremes = max == min ? 1 : max * max + min * min;
    if (squares < of_extremes * (1 - kRounding))
      return fmt::format("its norm {} is below that of its largest and smallest element", norm);
    if (squares > others_ * (1 + kRounding))
      return fmt::format("its norm {} is above that of {} elements as large as its largest", norm, others_);
    if (!four_.mean) return {};
    const double mean = *four_.mean / largest, sum = mean * count_;
    if (squares < sum * sum / others_ - kRounding * count_)
      return fmt::format("its norm {} is below that of elements whose mean is {}", norm, *four_.mean);
    // Every element lies between the two: (max - x) (x - min) is not negative.
    if (squares > count_ * (mean * (max + min) - max * min + kRounding))
      return fmt::format("its norm {} is above that of elements between {} and {} whose mean is {}", norm,
                         *four_.min, *four_.max, *four_.mean);
    return {};
  }

  bool may_vanish() const { return limits_of(dtype_).largest == limits_of(DType::f64).largest; }

  const DType dtype_;
  const bool is_whole_;
  const Four four_;
  const double count_;
  const int64_t zeros_;
  const double others_;  // that are not zero
};

// Of all elements: NaN and infinities propagate.
std::string contradiction_of_nonfinite(DType dtype, const Four& all, const Nonfinite& counts,
                                       int64_t finite) {
  const int64_t nans = counts.nans, infs = counts.infs, minus = counts.minus_infs;
  const auto is_nan = [](const Number& each) { return each && std::isnan(*each); };
  if (nans > 0) {
    for (const Number& each : {all.max, all.min, all.mean, all.norm})
      if (each && !is_nan(each)) return fmt::format("{} beside {} NaN, which propagate", *each, nans);
    return {};
  }
  const bool has_both = minus < 0 || (minus > 0 && minus < infs);
  if (is_nan(all.max) || is_nan(all.min) || is_nan(all.norm) || (is_nan(all.mean) && !(infs > 0 && has_both)))
    return "NaN, and it counts none";
  const auto is_inf = [](const Number& each) { return each && std::isinf(*each); };
  if (infs == 0) {
    const bool may_overflow = std::max(all.largest(), 0.0) > kLargeToSquare || is_complex(dtype);
    if (is_inf(all.max) || is_inf(all.min) || ((is_inf(all.mean) || is_inf(all.norm)) && !may_overflow))
      return "an infinity, and it counts none";
    return {};
  }
  const auto is_not = [](const Number& each, double wanted) { return each && *each != wanted; };
  if (is_not(all.norm, INFINITY)) return fmt::format("its norm is {} beside infinities", *all.norm);
  if (!is_inf(all.max) && !is_inf(all.min) && all.max && all.min)
    return "it counts infinities, and neither its largest nor its smallest element is one";
  if (minus < 0) return {};
  const bool has_minus = minus > 0, has_plus = minus < infs;
  const Number max = has_plus     ? INFINITY
                     : finite > 0 ? Number(counts.max.is_absent() ? all.max : number_in(counts.max))
                                  : -INFINITY;
  const Number min = has_minus    ? -INFINITY
                     : finite > 0 ? Number(counts.min.is_absent() ? all.min : number_in(counts.min))
                                  : INFINITY;
  if ((max && is_not(all.max, *max)) || (min && is_not(all.min, *min)) ||
      (!has_plus && all.max == INFINITY) || (!has_minus && all.min == -INFINITY))
    return "its extremes are not those of its infinities and of its finite elements";
  if (has_minus && has_plus ? all.mean && !is_nan(all.mean)
                            : is_not(all.mean, has_plus ? INFINITY : -INFINITY))
    return fmt::format("its mean is {} beside infinities", *all.mean);
  return {};
}

}  // namespace

std::string contradiction_of_statistics(const TensorMeta& meta, const Stats& stats, int64_t zeros) {
  const Nonfinite& counts = stats.nonfinite;
  const Four all = {number_in(stats.max), number_in(stats.min), number_in(stats.mean), number_in(stats.norm)};
  const Four finite = {number_in(counts.max), number_in(counts.min), number_in(counts.mean),
                       number_in(counts.norm)};
  const int64_t count = meta.shape.count() * components(meta.dtype);
  if (count == 0)
    return all.says_nothing() && finite.says_nothing() ? "" : "statistics of a tensor without elements";
  const bool says_truth = std::holds_alternative<bool>(stats.max) || std::holds_alternative<bool>(stats.min);
  if (says_truth && meta.dtype != DType::boolean)
    return fmt::format("its largest and smallest element are truth values, which {} does not hold",
                       name(meta.dtype));
  const bool has_counts = counts.nans >= 0 && counts.infs >= 0;
  const int64_t nans = std::max<int64_t>(counts.nans, 0), infs = std::max<int64_t>(counts.infs, 0);
  if (nans > count || infs > count - nans || zeros > count - nans - infs)
    return fmt::format("{} NaN, {} infinities and {} zeros are more than its {} elements", nans, infs,
                       std::max<int64_t>(zeros, 0), count);
  if (nans + infs > 0 && !is_real(meta.dtype) && !is_complex(meta.dtype))
    return fmt::format("{} holds neither NaN nor infinities, and it counts {}", name(meta.dtype),
                       nans + infs);
  if (!has_counts) return {};
  const int64_t others = count - nans - infs;
  if (std::string why = contradiction_of_nonfinite(meta.dtype, all, counts, others); !why.empty()) return why;
  if ((nans + infs == 0 || others == 0) && !finite.says_nothing())
    return "statistics of its finite elements alone, where there are no others, or none of them";
  if (others == 0) return {};
  const Four& known = nans + infs == 0 ? all : finite;
  if (known.norm && std::isinf(*known.norm)) return {};  // squares that f64 does not hold
  return Claims(meta.dtype, known, others, zeros).contradiction();
}

}  // namespace assay
