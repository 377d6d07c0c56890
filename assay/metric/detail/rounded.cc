#include "assay/metric/detail/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <set>

namespace assay::detail {
namespace {

// Of the sample: so many of one side have to be the other's rounded, and so many of the other must not be
// exact in the type anyway.
constexpr double kMost = 0.98, kTelling = 0.5;
constexpr size_t kFewestValues = 16;
// Values that are exact in a coarser type, but not the other side's rounded: that makes so many steps at
// most.
constexpr double kMostSteps = 16;
constexpr int kFewestToLook = 7;  // fraction bits: of fewer, a step says little

// Numbers that values may have been rounded to: those of a type, or of f32 with fewer fraction bits.
struct Grid {
  std::string_view name;
  int fraction_bits;
  std::optional<DType> dtype;
  bool is_cut = false;  // towards zero
};
// The coarsest first: what is exact in one of them is exact in those behind it.
constexpr Grid kGrids[] = {
    {"f8e5m2", 2, DType::f8e5m2},     {"f8e4m3fn", 3, DType::f8e4m3fn}, {"bf16", 7, DType::bf16},
    {"bf16", 7, std::nullopt, true},  {"f16", 10, DType::f16},          {"tf32", 10, std::nullopt},
    {"tf32", 10, std::nullopt, true}, {"f32", 23, DType::f32},
};

double to_grid(const Grid& grid, double value) {
  if (grid.dtype) {
    std::byte bytes[8];
    double back = 0;
    from_f64(*grid.dtype, &value, 1, bytes);
    to_f64(*grid.dtype, bytes, 1, &back);
    return back;
  }
  const int gone = 23 - grid.fraction_bits;
  const uint32_t rest = (1U << gone) - 1;
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (!grid.is_cut) bits += rest / 2 + (bits >> gone & 1);  // to nearest even
  return static_cast<double>(std::bit_cast<float>(bits & ~rest));
}

struct Match {
  bool is_other_rounded = false;  // value by value
  bool is_exact = false;          // all values are exact on the grid, and the other side's are not
};

// sample: finite on both sides.
Match match(std::span<const Sampled> sample, const Grid& grid, Side side) {
  const auto n = static_cast<double>(sample.size());
  int64_t looked_at = 0, same = 0, telling = 0, exact = 0;
  std::set<double> values;  // broken ones: whole numbers are exact in anything
  for (const Sampled& each : sample) {
    const double coarse = side == Side::mine ? each.mine : each.golden;
    const double fine = side == Side::mine ? each.golden : each.mine;
    const double near = to_grid(grid, fine);
    ++looked_at;
    same += near == coarse ? 1 : 0;
    telling += near != fine ? 1 : 0;
    exact += to_grid(grid, coarse) == coarse ? 1 : 0;
    const int64_t at_best = std::ssize(sample) - (looked_at - same);
    if (exact < looked_at && static_cast<double>(at_best) < kMost * n) return {};
    if (values.size() < kFewestValues && coarse != std::floor(coarse)) values.insert(coarse);
  }
  if (values.size() < kFewestValues || static_cast<double>(telling) < kTelling * n) return {};
  return {static_cast<double>(same) >= kMost * n, exact == looked_at};
}

}  // namespace

std::optional<Diagnosis> rounded(const Looked& looked, const Detail& detail) {
  const double error = detail.as_it_is.rel_l2;
  std::vector<Sampled> sample;
  std::ranges::copy_if(looked.sums.sample, std::back_inserter(sample), [](const Sampled& each) {
    return std::isfinite(each.mine) && std::isfinite(each.golden);
  });
  for (const Side side : {Side::mine, Side::golden}) {
    const bool is_mine = side == Side::mine;
    const DTypeInfo& own = info(component(is_mine ? looked.mine : looked.golden));
    if (own.kind != DTypeKind::real) continue;
    const std::string_view name = is_mine ? "mine" : "golden", other = is_mine ? "golden" : "mine";
    const Grid* exact = nullptr;
    for (const Grid& grid : kGrids) {
      const double step = std::ldexp(1.0, -grid.fraction_bits);
      if (own.mantissa_bits <= grid.fraction_bits || !(error <= kMostSteps * step)) continue;
      const Match found = match(sample, grid, side);
      if (found.is_other_rounded)
        return Diagnosis{
            DiagnosisKind::rounded,
            fmt::format("{} is {} {} {}", name, other,
                        grid.is_cut ? "cut off (rounded towards zero) to" : "rounded to", grid.name)};
      if (found.is_exact && !grid.is_cut && grid.fraction_bits >= kFewestToLook && exact == nullptr)
        exact = &grid;
    }
    if (exact != nullptr)
      return Diagnosis{DiagnosisKind::rounded, fmt::format("{} looks rounded to {}", name, exact->name)};
  }
  return std::nullopt;
}

}  // namespace assay::detail
