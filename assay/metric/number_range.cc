#include "assay/metric/number_range.h"

#include "assay/base/cancel.h"
#include "assay/metric/families.h"
#include "assay/tensor/dtype_limits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

constexpr int64_t kTileElements = 4096;  // few enough to be counted in 16 bits

// IEEE types are told apart by their bits: magnitudes of numbers are ordered like whole numbers, and behind
// the largest come infinity and NaN. Counters are as wide as the elements, so that a vector holds as many of
// them.
template <class Int>
void add_tile_of_bits(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  constexpr Int kMagnitude = std::numeric_limits<Int>::max();
  const auto one_binade = static_cast<Int>(Int{1} << info(dtype).mantissa_bits);
  const Int infinity = static_cast<Int>(kMagnitude & ~(one_binade - 1));
  const Int near = static_cast<Int>(infinity - 1 - one_binade), least_normal = one_binade;
  Int elements[kTileElements];
  std::memcpy(elements, data, static_cast<size_t>(n) * sizeof(Int));
  Int nans = 0, infs = 0, minus_infs = 0, nears = 0, subnormal = 0, zeros = 0;
  // With the magnitudes of negative numbers turned round, all of them are ordered.
  Int largest = std::numeric_limits<Int>::min(), smallest = std::numeric_limits<Int>::max();
  for (int64_t i = 0; i < n; ++i) {
    const Int bits = elements[i], magnitude = static_cast<Int>(bits & kMagnitude);
    const bool is_finite = magnitude < infinity;
    nans = static_cast<Int>(nans + (magnitude > infinity));
    infs = static_cast<Int>(infs + (magnitude == infinity));
    minus_infs = static_cast<Int>(minus_infs + ((magnitude == infinity) & (bits < 0)));
    nears = static_cast<Int>(nears + ((magnitude >= near) & is_finite));
    subnormal = static_cast<Int>(subnormal + ((magnitude < least_normal) & (magnitude != 0)));
    zeros = static_cast<Int>(zeros + (magnitude == 0));
    const Int ordered = static_cast<Int>(bits < 0 ? ~magnitude : magnitude);
    largest = std::max(largest, is_finite ? ordered : std::numeric_limits<Int>::min());
    smallest = std::min(smallest, is_finite ? ordered : std::numeric_limits<Int>::max());
  }
  NumberRange found;
  found.count = n;
  found.nans = nans;
  found.plus_infs = infs - minus_infs;
  found.minus_infs = minus_infs;
  found.near_max = nears;
  found.subnormal = subnormal;
  found.zeros = zeros;
  found.type_max = out.type_max;
  if (nans + infs < n) {
    const auto value = [&](Int ordered) {
      const Int bits = ordered < 0
                           ? static_cast<Int>(static_cast<Int>(~ordered) | std::numeric_limits<Int>::min())
                           : ordered;
      double wide = 0;
      to_f64(dtype, reinterpret_cast<const std::byte*>(&bits), 1, &wide);
      return wide;
    };
    found.min = value(smallest);
    found.max = value(largest);
  }
  if (!found.is_finite() && out.first_nonfinite < 0) {
    const auto first = std::find_if(
        elements, elements + n, [&](Int bits) { return static_cast<Int>(bits & kMagnitude) >= infinity; });
    found.first_nonfinite = at + (first - elements);
  }
  out.merge(found);
}

// Any other type, by the values of its elements.
void add_tile_of_values(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  double values[kTileElements];
  to_f64(dtype, data, n, values);
  const RealLimits limits = limits_of(dtype);
  const double near = limits.largest == 0 ? HUGE_VAL : limits.largest / 2;
  out.count += n;
  for (int64_t i = 0; i < n; ++i) {
    const double value = values[i], magnitude = std::abs(value);
    if (!(magnitude < HUGE_VAL)) {
      ++(std::isnan(value) ? out.nans : value > 0 ? out.plus_infs : out.minus_infs);
      if (out.first_nonfinite < 0) out.first_nonfinite = at + i;
      continue;
    }
    out.near_max += magnitude >= near;
    out.subnormal += magnitude < limits.least_normal && value != 0;
    out.zeros += value == 0;
    out.min = std::fmin(out.min, value);
    out.max = std::fmax(out.max, value);
  }
}

void add_tile(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
      return add_tile_of_bits<int16_t>(data, n, dtype, at, out);
    case DType::f32:
      return add_tile_of_bits<int32_t>(data, n, dtype, at, out);
    case DType::f64:
      return add_tile_of_bits<int64_t>(data, n, dtype, at, out);
    default:
      return add_tile_of_values(data, n, dtype, at, out);
  }
}

Value known(int64_t count) {
  return count == NumberRange::kNotKnown ? Value(std::string("some")) : Value(count);
}

Value share(int64_t count, int64_t of) {
  if (of <= 0) return count == 0 ? Value(0.0) : Value();
  return count == NumberRange::kNotKnown ? Value()
                                         : Value(static_cast<double>(count) / static_cast<double>(of));
}

}  // namespace

Result<NumberRange> gather_range(const Operand& operand, int64_t first, int64_t count, Scratch& scratch) {
  const DType part = component(operand.meta.dtype);
  const int64_t parts_of_element = components(operand.meta.dtype);
  NumberRange out;
  out.type_max = limits_of(part).largest;
  for (int64_t at = first; at < first + count; at += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(at, std::min(kBlockElements, first + count - at), scratch));
    const int64_t parts = block.count * parts_of_element;
    for (int64_t done = 0; done < parts; done += kTileElements)
      add_tile(block.data + done * size_of(part), std::min(kTileElements, parts - done), part,
               at * parts_of_element + done, out);
  }
  return out;
}

namespace {

const Metric range_metric{
    "range",
    {"nan", "inf", "plus_inf", "min", "max", "of_type_max", "near_max", "subnormal", "zero"},
    0,
    false,
    "of one tensor by itself: how many elements are NaN or infinite; the ends of the others, and the larger "
    "as "
    "a share of what the type holds; the shares within a factor of 2 of that, below the normal numbers, and "
    "0",
    [](const Gathered& g, std::span<Value> out) {
      if (g.range == nullptr) return;
      const NumberRange& range = *g.range;
      out[0] = known(range.nans);
      out[1] = known(range.infs());
      out[2] = known(range.plus_infs);
      out[3] = number_or_absent(range.min, !std::isnan(range.min));
      out[4] = number_or_absent(range.max, !std::isnan(range.max));
      const double of_type_max = range.of_type_max();
      out[5] = number_or_absent(of_type_max, !std::isnan(of_type_max));
      out[6] = range.type_max == 0 ? Value() : share(range.near_max, range.count);
      out[7] = range.type_max == 0 ? Value() : share(range.subnormal, range.count);
      out[8] = share(range.zeros, range.count);
    }};

}  // namespace

MetricTable range_metrics() {
  static constexpr const Metric* kTable[] = {&range_metric};
  return kTable;
}

}  // namespace assay
