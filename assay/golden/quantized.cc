#include "assay/golden/quantized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace assay {
namespace {

// What the symmetric and the asymmetric scale of a row are made of.
struct RowRange {
  Approx lowest, highest;
  bool is_finite = true;
};

// An extreme may be off by its own error, or be overtaken by another element that is off.
RowRange range_of(const BoundedNumbers& x, int64_t first, int64_t width) {
  RowRange range{{HUGE_VAL, 0}, {-HUGE_VAL, 0}};
  double overtakes_low = HUGE_VAL, overtakes_high = -HUGE_VAL;
  for (int64_t i = first; i < first + width; ++i) {
    const Approx each{x.value.values[static_cast<size_t>(i)], x.error(i)};
    range.is_finite = range.is_finite && std::isfinite(each.value);
    if (each.value < range.lowest.value) range.lowest = each;
    if (each.value > range.highest.value) range.highest = each;
    overtakes_low = std::min(overtakes_low, each.value - each.error);
    overtakes_high = std::max(overtakes_high, each.value + each.error);
  }
  range.lowest.error = std::max(range.lowest.error, range.lowest.value - overtakes_low);
  range.highest.error = std::max(range.highest.error, overtakes_high - range.highest.value);
  return range;
}

// The scales are f32 whatever the type of the tensor: so is the arithmetic.
const double kUnit = std::ldexp(1.0, -24);

// How a row becomes int8: its scale, and where it is moved as well, by how much.
struct RowScale {
  RowRange range;
  bool asymmetric = false;
  Approx scale, offset;
  bool is_finite = true, has_extent = true;
};

// Of the corners of a box: what rises or falls along each edge is nowhere else further off.
template <class F>
double error_at_corners(double value, std::initializer_list<Approx> box, F f) {
  double error = 0;
  std::array<double, 3> at{};
  for (unsigned corner = 0; corner < 1U << box.size(); ++corner) {
    size_t k = 0;
    for (const Approx& each : box) {
      at[k] = each.value + ((corner >> k & 1) != 0 ? each.error : -each.error);
      ++k;
    }
    error = std::max(error, std::abs(f(at) - value));
  }
  return error;
}

// The place between the extremes, of which one is 255 steps from the other.
double asymmetric_steps(double x, double lowest, double highest) {
  return 255 * (x - (highest + lowest) / 2) / (highest - lowest);
}

RowScale scale_of(const RowRange& range, bool asymmetric) {
  RowScale row{range, asymmetric, {}, {}, range.is_finite, true};
  if (!asymmetric) {
    const double largest = std::max(-range.lowest.value, range.highest.value);
    const double error = std::max(range.lowest.error, range.highest.error);
    row.scale = {largest / 127, (error + 2 * kUnit * largest) / 127};
    row.has_extent = row.scale.value > 0;
    return row;
  }
  const double extent = range.highest.value - range.lowest.value;
  const double error = range.lowest.error + range.highest.error;
  row.scale = {extent / 255, (error + 3 * kUnit * extent) / 255};
  row.has_extent = extent > error;
  if (!row.is_finite || !row.has_extent) return row;
  row.offset.value = asymmetric_steps(0, range.lowest.value, range.highest.value);
  row.offset.error = error_at_corners(row.offset.value, {range.lowest, range.highest},
                                      [](const auto& at) { return asymmetric_steps(0, at[0], at[1]); }) +
                     7 * kUnit * std::abs(row.offset.value);
  return row;
}

Approx quantized(const RowScale& row, double x, double error) {
  const double steps = x / row.scale.value;
  if (!row.asymmetric)
    return {steps,
            error / row.scale.value + std::abs(steps) * (row.scale.error / row.scale.value + 4 * kUnit)};
  const double value = asymmetric_steps(x, row.range.lowest.value, row.range.highest.value);
  const double moved = error_at_corners(value, {{x, error}, row.range.lowest, row.range.highest},
                                        [](const auto& at) { return asymmetric_steps(at[0], at[1], at[2]); });
  return {value, moved + 7 * kUnit * (std::abs(steps) + std::abs(row.offset.value))};
}

}  // namespace

double error_of_rounding(DType dtype, double value) {
  constexpr int kLeastOfF16 = -14;
  if (value == 0 || !std::isfinite(value)) return 0;
  const int exponent = std::ilogb(value);
  return std::ldexp(unit_roundoff(dtype), dtype == DType::f16 ? std::max(exponent, kLeastOfF16) : exponent);
}

double error_through_f16(double value) {
  const double within = std::clamp(std::abs(value), 0.0, 128.0);
  return within * unit_roundoff(DType::f16);
}

Result<PerChannel> per_channel(const GoldenCall& call, size_t i, int64_t width, std::string_view what) {
  ASSAY_TRY(Numbers numbers, numbers_of(call, i));
  if (numbers.count() != 1 && numbers.count() != width)
    return fail(ErrorKind::mismatch, "the {} of {} has shape {}, where 1 or {} elements are wanted", what,
                call.type, numbers.shape.text(), width);
  return PerChannel{std::move(numbers.values)};
}

Result<PerChannel> per_channel_or(const GoldenCall& call, size_t i, int64_t width, std::string_view what,
                                  double otherwise) {
  if (!has_input(call, i)) return PerChannel{{otherwise}};
  return per_channel(call, i, width, what);
}

Result<GoldenOutputs> quantized_by_row(const BoundedNumbers& x, bool asymmetric, ToInt8 to_int8) {
  if (x.value.shape.dims.empty()) return fail(ErrorKind::mismatch, "a scalar has no rows to quantise");
  Shape rows_shape = x.value.shape;
  const int64_t width = rows_shape.dims.back();
  rows_shape.dims.pop_back();
  ASSAY_TRY(const int64_t rows, count_of(rows_shape));
  ASSAY_TRY(BoundedNumbers values, zeros_with_bounds(x.value.shape));
  ASSAY_TRY(BoundedNumbers scales, zeros_with_bounds(rows_shape));
  ASSAY_TRY(BoundedNumbers offsets, zeros_with_bounds(rows_shape));
  // Of the elements, of the rows' scales, and of their offsets.
  std::vector<uint8_t> known(values.allowed.size(), 1), finite_rows(static_cast<size_t>(rows), 1);
  std::vector<uint8_t> known_rows(static_cast<size_t>(rows), 1);
  in_parallel(width == 0 ? 0 : rows, 8 * width, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const RowScale row = scale_of(range_of(x, r * width, width), asymmetric);
      finite_rows[static_cast<size_t>(r)] = row.is_finite ? 1 : 0;
      if (row.is_finite) put(scales, r, row.scale);
      if (!row.is_finite || !row.has_extent) {
        known_rows[static_cast<size_t>(r)] = 0;
        std::fill_n(known.begin() + r * width, width, uint8_t{0});
        continue;
      }
      put(offsets, r, row.offset);
      for (int64_t i = r * width; i < (r + 1) * width; ++i)
        put(values, i, quantized(row, x.value.values[static_cast<size_t>(i)], x.error(i)));
    }
  });
  constexpr std::string_view kWhy = "rows that are all equal or not finite have no int8";
  GoldenOutputs outs;
  outs.push_back(expected_int8(std::move(values), to_int8));
  leave_out(outs[0], known, std::string(kWhy));
  outs.push_back(expected(DType::f32, std::move(scales)));
  leave_out(outs[1], finite_rows, std::string(kWhy));
  if (asymmetric) {
    outs.push_back(expected(DType::f32, std::move(offsets)));
    leave_out(outs[2], known_rows, std::string(kWhy));
  }
  return outs;
}

}  // namespace assay
