#include "assay/metric/number_range.h"

#include "assay/base/cancel.h"
#include "assay/metric/families.h"
#include "assay/metric/tile_range.h"
#include "assay/tensor/dtype_limits.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

using tile::kRangeTile;

// The number that bits of count_range() stand for.
double value_of_ordered(int64_t ordered, DType dtype) {
  const int64_t bytes = size_of(dtype);
  const int64_t sign = bytes == 8 ? INT64_MIN : int64_t{1} << (8 * bytes - 1);
  const int64_t bits = ordered < 0 ? ~ordered | sign : ordered;
  double value = 0;
  to_f64(dtype, reinterpret_cast<const std::byte*>(&bits), 1, &value);  // little-endian: the low bytes
  return value;
}

bool is_finite_at(const std::byte* element, DType dtype) {
  double value = 0;
  to_f64(dtype, element, 1, &value);
  return std::isfinite(value);
}

int64_t first_nonfinite_in(const std::byte* data, int64_t n, DType dtype) {
  int64_t i = 0;
  while (i < n && is_finite_at(data + i * size_of(dtype), dtype)) ++i;
  return i;
}

void add_by_bits(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  const tile::RangeCounts counts = tile::count_range(data, n, size_of(dtype), info(dtype).mantissa_bits);
  NumberRange found;
  found.count = n;
  found.nans = counts.nans;
  found.minus_infs = counts.minus_infs;
  found.plus_infs = counts.infs - counts.minus_infs;
  found.near_max = counts.near_max;
  found.subnormal = counts.subnormal;
  found.zeros = counts.zeros;
  found.type_max = out.type_max;
  if (counts.nans + counts.infs < n) {
    found.min = value_of_ordered(counts.smallest, dtype);
    found.max = value_of_ordered(counts.largest, dtype);
  }
  if (!found.is_finite() && out.first_nonfinite < 0)
    found.first_nonfinite = at + first_nonfinite_in(data, n, dtype);
  out.merge(found);
}

// `times` elements of one value.
void add_value(double value, int64_t times, const RealLimits& limits, NumberRange& out) {
  const double magnitude = std::abs(value);
  out.count += times;
  if (!(magnitude < HUGE_VAL)) {
    (std::isnan(value) ? out.nans : value > 0 ? out.plus_infs : out.minus_infs) += times;
    return;
  }
  if (limits.largest > 0 && magnitude >= limits.largest / 2) out.near_max += times;
  if (magnitude < limits.least_normal && value != 0) out.subnormal += times;
  if (value == 0) out.zeros += times;
  out.min = std::fmin(out.min, value);
  out.max = std::fmax(out.max, value);
}

// Of one byte each: there are no more than 256 of them.
void add_by_codes(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  constexpr size_t kTables = 4;  // so that neighbours that are equal do not wait for each other
  std::array<std::array<uint32_t, 256>, kTables> counts{};
  for (int64_t i = 0; i < n; ++i) ++counts[static_cast<size_t>(i) % kTables][static_cast<size_t>(data[i])];
  const RealLimits limits = limits_of(dtype);
  const bool was_finite = out.is_finite();
  for (size_t code = 0; code < 256; ++code) {
    int64_t times = 0;
    for (const auto& table : counts) times += table[code];
    if (times == 0) continue;
    const auto byte = static_cast<std::byte>(code);
    double value = 0;
    to_f64(dtype, &byte, 1, &value);
    add_value(value, times, limits, out);
  }
  if (was_finite && !out.is_finite()) out.first_nonfinite = at + first_nonfinite_in(data, n, dtype);
}

// Whole numbers of several bytes.
void add_by_values(const std::byte* data, int64_t n, DType dtype, NumberRange& out) {
  double values[kRangeTile];
  to_f64(dtype, data, n, values);
  for (int64_t i = 0; i < n; ++i) add_value(values[i], 1, {0, 0}, out);
}

void add_block(const std::byte* data, int64_t n, DType dtype, int64_t at, NumberRange& out) {
  const int64_t bytes = size_of(dtype);
  if (bytes == 1) return add_by_codes(data, n, dtype, at, out);
  for (int64_t done = 0; done < n; done += kRangeTile) {
    const int64_t count = std::min(kRangeTile, n - done);
    if (is_real(dtype))
      add_by_bits(data + done * bytes, count, dtype, at + done, out);
    else
      add_by_values(data + done * bytes, count, dtype, out);
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
    add_block(block.data, block.count * parts_of_element, part, at * parts_of_element, out);
  }
  return out;
}

namespace {

const Metric range_metric{
    "range",
    {"nans", "infs", "plus_infs", "smallest", "largest", "of_type_max", "near_max", "subnormal", "zero"},
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
