#include "assay/model/number_range.h"

#include "assay/model/evidence.h"
#include "assay/tensor/dtype_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

double NumberRange::of_type_max() const {
  if (type_max == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::max(std::abs(min), std::abs(max)) / type_max;
}

void NumberRange::merge(const NumberRange& later) {
  if (first_nonfinite < 0) first_nonfinite = later.first_nonfinite;
  count += later.count;
  nans += later.nans;
  plus_infs += later.plus_infs;
  minus_infs += later.minus_infs;
  near_max += later.near_max;
  subnormal += later.subnormal;
  zeros += later.zeros;
  min = std::fmin(min, later.min);  // NaN stands for no number
  max = std::fmax(max, later.max);
  type_max = later.type_max;
}

std::optional<NumberRange> stated_range(const Stated& stated, const TensorMeta* meta) {
  std::array<double, kStatistics.size()> numbers;
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = number_of(stated.*kStatistics[i].of).value_or(std::numeric_limits<double>::quiet_NaN());
  const auto is_stated = [&](size_t i) { return number_of(stated.*kStatistics[i].of).has_value(); };
  const auto is_nan = [&](size_t i) { return is_stated(i) && std::isnan(numbers[i]); };
  NumberRange range;
  range.is_stated = true;
  range.count = meta == nullptr ? NumberRange::kNotKnown : meta->shape.count() * components(meta->dtype);
  range.type_max = meta == nullptr ? 0 : limits_of(meta->dtype).largest;
  const bool has_plus = numbers[kMaxAt] == HUGE_VAL || numbers[kMinAt] == HUGE_VAL;
  const bool has_minus = numbers[kMinAt] == -HUGE_VAL || numbers[kMaxAt] == -HUGE_VAL;
  // The mean of infinities of both signs is NaN without any NaN among the elements. A norm, or a mean, may be
  // infinite because its own sum overflowed: that says nothing of the elements.
  const bool has_nan =
      is_nan(kMaxAt) || is_nan(kMinAt) || is_nan(kNormAt) || (is_nan(kMeanAt) && !(has_plus && has_minus));
  const Nonfinite* const counts = stated.nonfinite;
  const bool has_counts = counts != nullptr && counts->nans >= 0 && counts->infs >= 0;
  if (has_counts) {
    range.nans = counts->nans;
    const bool knows_signs = counts->infs == 0 || counts->minus_infs >= 0;
    range.minus_infs = knows_signs ? std::max<int64_t>(counts->minus_infs, 0) : NumberRange::kNotKnown;
    range.plus_infs = knows_signs ? counts->infs - range.minus_infs : NumberRange::kNotKnown;
  } else {
    if (has_nan) range.nans = NumberRange::kNotKnown;
    if (has_plus) range.plus_infs = NumberRange::kNotKnown;
    if (has_minus) range.minus_infs = NumberRange::kNotKnown;
    // ATB's largest and smallest element pass over NaN, its mean and norm do not: of a type that has NaN they
    // alone do not tell.
    const bool knows_ends = is_stated(kMaxAt) && is_stated(kMinAt);
    const bool knows_nan =
        is_stated(kMeanAt) || is_stated(kNormAt) || (meta != nullptr && range.type_max == 0);
    if (range.is_finite() && !(knows_ends && knows_nan)) return std::nullopt;
  }
  const auto largest = number_of(finite_statistic(stated, kStatistics[kMaxAt]));
  const auto smallest = number_of(finite_statistic(stated, kStatistics[kMinAt]));
  // Of a tensor of NaN alone ATB writes the ends of the type, the wrong way round.
  if (largest && smallest && *smallest <= *largest) {
    range.max = *largest;
    range.min = *smallest;
  }
  // Not more than half of what the type holds: then none of them is. Statistics do not tell how many.
  range.near_max = range.of_type_max() < 0.5 ? 0 : NumberRange::kNotKnown;
  range.subnormal = range.zeros = NumberRange::kNotKnown;
  return range;
}

namespace {

// The share of its terms that a sum may lose, or gain, where a device adds them one by one in their own type,
// or in f32: half a step of the sum each, and never more than the terms themselves. Some devices stop at the
// largest number of the type.
double lost_in_a_sum(const TensorMeta& meta, double largest) {
  const double half_step = meta.dtype == DType::bf16 ? 0x1p-8 : meta.dtype == DType::f16 ? 0x1p-11 : 0x1p-24;
  const auto count = static_cast<double>(meta.shape.count());
  return count * largest > limits_of(meta.dtype).largest ? 1.0 : std::min(1.0, count * half_step);
}

// The largest magnitude of a whole number of this type; 0 of a real one.
double end_of_whole_numbers(DType dtype) {
  const DTypeInfo& type = info(dtype);
  switch (type.kind) {
    case DTypeKind::truth:
      return 1;
    case DTypeKind::integer:
      return std::ldexp(1.0, type.storage_bits - 1);
    case DTypeKind::natural:
      return std::ldexp(1.0, type.storage_bits) - 1;
    default:
      return 0;
  }
}

}  // namespace

std::string impossible_statistics(const Stated& stated, const TensorMeta* meta) {
  const auto finite = [&](size_t which) {
    const auto number = number_of(stated.*kStatistics[which].of);
    return number && std::isfinite(*number) ? number : std::nullopt;
  };
  const auto stated_nan = [&](size_t which) {
    return std::isnan(number_of(stated.*kStatistics[which].of).value_or(0));
  };
  const auto max = finite(kMaxAt), min = finite(kMinAt), mean = finite(kMeanAt);
  auto norm = finite(kNormAt);
  // msprobe states a tensor of one element itself as its norm.
  if (norm && meta != nullptr && meta->shape.count() == 1) norm = std::abs(*norm);
  const bool is_empty = meta != nullptr && meta->shape.count() == 0;
  // Of a tensor of NaN alone ATB writes the ends of the type, the wrong way round. Complex numbers have no
  // order.
  if (is_empty || (meta != nullptr && is_complex(meta->dtype)) || stated_nan(kMeanAt) ||
      stated_nan(kNormAt) || (stated.nonfinite != nullptr && stated.nonfinite->nans > 0))
    return {};
  if (max && min && *max < *min)
    return fmt::format("its largest element {:.9g} is below its smallest {:.9g}", *max, *min);
  const double largest = std::max(std::abs(max.value_or(0)), std::abs(min.value_or(0)));
  // Room for what printing rounds, or cuts off.
  constexpr double kPrinted = 1.01;
  const double cut_off = stated.decimals < 0 ? 0 : std::pow(10.0, -stated.decimals);
  const double end = meta == nullptr ? 0 : limits_of(meta->dtype).largest;
  const double end_of_whole = meta == nullptr ? 0 : end_of_whole_numbers(meta->dtype);
  for (const double last : {end, end_of_whole})
    if (last > 0 && largest > kPrinted * last)
      return fmt::format("its largest element {:.9g} is beyond {:.9g}, the largest of {}", largest, last,
                         name(meta->dtype));
  for (const auto& extreme : {max, min})
    if (extreme && end_of_whole > 0 && *extreme != std::trunc(*extreme))
      return fmt::format("its element {:.9g} is no whole number, as those of {} are", *extreme,
                         name(meta->dtype));
  // Squares of small elements vanish where a device sums them in f16, or in f32.
  const double least = end > 0 && end < 1e6 ? 0x1p-7 : 1e-18;
  if (norm && largest > least && kPrinted * *norm + cut_off < largest)
    return fmt::format("its norm {:.9g} is below its largest element {:.9g}", *norm, largest);
  if (!max || !min || meta == nullptr) return {};
  const double lost = lost_in_a_sum(*meta, largest);
  const double flushed = std::max(limits_of(meta->dtype).least_normal, 0x1p-126);
  const double beyond = (kPrinted - 1 + lost) * largest + cut_off + flushed;
  // Sums of whole numbers may wrap round.
  if (mean && end > 0 && *mean > *max + beyond)
    return fmt::format("its mean {:.9g} is above its largest element {:.9g}", *mean, *max);
  if (mean && end > 0 && *mean < *min - beyond)
    return fmt::format("its mean {:.9g} is below its smallest element {:.9g}", *mean, *min);
  const double most = std::sqrt(static_cast<double>(meta->shape.count()) * (1 + lost)) * (largest + cut_off);
  if (norm && *norm > least && *norm > kPrinted * most + cut_off)
    return fmt::format("its norm {:.9g} is above {:.9g}, that of {} elements as large as its largest", *norm,
                       most, meta->shape.count());
  return {};
}

std::string nonfinite_text(const NumberRange& range) {
  std::string out;
  const auto add = [&](int64_t count, std::string_view what) {
    if (count == 0) return;
    out += out.empty() ? "" : ", ";
    out += count < 0 ? std::string(what) : fmt::format("{} {}", count, what);
  };
  add(range.nans, "NaN");
  add(range.plus_infs, "Inf");
  add(range.minus_infs, "-Inf");
  return out;
}

}  // namespace assay
