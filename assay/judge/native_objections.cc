// What a rule cannot see: numbers that are beside the ones it reads, or that these hide.
#include "assay/judge/native_objections.h"

#include "assay/judge/native_defaults.h"
#include "assay/judge/native_stated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr double kElementApart = 4;  // of the bound of the whole, measured in its own golden value
constexpr double kRestApart = 64, kRestMost = 0.5;

// Steps of the coarser type end at its largest number: whatever lies beyond is one step away from it.
bool is_beyond(DType coarser, double value) {
  std::array<std::byte, sizeof(double)> bytes;
  double rounded = 0;
  from_f64(coarser, &value, 1, bytes.data());
  to_f64(coarser, bytes.data(), 1, &rounded);
  return !std::isfinite(rounded) || (std::abs(rounded) >= 1 && std::abs(rounded) < std::abs(value) / 2);
}

}  // namespace

// Facts of other dumps tell where a tensor lies, and how.
std::optional<std::string> other_fact(const Comparison& row, const Head& head) {
  if (head.mine_layout != "msprobe" || head.golden_layout != "msprobe") return std::nullopt;
  const Item *const mine = row.mine.item, *const golden = row.golden.item;
  if (mine == nullptr || golden == nullptr || mine->stated == nullptr || golden->stated == nullptr)
    return std::nullopt;
  if (mine->facts == nullptr || golden->facts == nullptr) return std::nullopt;
  for (const Fact& m : *mine->facts)
    for (const Fact& g : *golden->facts) {
      const auto *a = std::get_if<std::string>(&m.value), *b = std::get_if<std::string>(&g.value);
      if (m.key == g.key && m.key != "csv_file" && m.key != "no_data" && a != nullptr && b != nullptr &&
          *a != *b)
        return fmt::format("{} {} of mine, {} of golden", m.key, *a, *b);
    }
  return std::nullopt;
}

std::optional<std::string> other_nonfinite(const Comparison& row, const RowContext& context) {
  if (row.basis == Basis::stated) return differ_in_nonfinite(*row.mine.stated(), *row.golden.stated());
  const double places = context.value(kMismatchColumn).value_or(0);
  if (places == 0) return std::nullopt;
  return fmt::format("{} {} > 0: NaN or infinite on one side only, or another one", kMismatchColumn, places);
}

std::optional<std::string> other_counts(const RowContext& context, std::string_view what,
                                        std::string_view mine_column, std::string_view golden_column) {
  const auto mine = context.value(mine_column), golden = context.value(golden_column);
  if (!mine || !golden || *mine == *golden) return std::nullopt;
  return fmt::format("{} {} of mine, {} of golden, and the rule does not speak of these", what, *mine,
                     *golden);
}

std::optional<std::string> cut_off(const Comparison& row, const RowContext& context,
                                   const ModelPlace& place) {
  struct End {
    std::string_view side, column;
    DType dtype;
  };
  const DType coarser = context.dtype;
  for (const End& end : {End{"mine", "worst_mine", row.mine.meta->dtype},
                         End{"golden", "worst_golden", row.golden.meta->dtype}}) {
    const double value = context.value(end.column).value_or(0);
    if (component(end.dtype) == coarser || !is_real(coarser) || !is_beyond(coarser, value)) continue;
    const double bound = relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place);
    if (context.value("max_abs").value_or(0) > std::min(kElementApart * bound, 0.5) * std::abs(value))
      return fmt::format("{:g} of {} is beyond the range of {}: it was cut off", value, end.side,
                         name(coarser));
  }
  return std::nullopt;
}

std::optional<std::string> drowned(const Comparison& row, const RowContext& context,
                                   const ModelPlace& place) {
  const double rest = context.value(kRestColumn).value_or(0);
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  if (context.value("ulp_max").value_or(1e9) <= ulps_allowed(mine, golden, place)) return std::nullopt;
  double bound = relative_bound(mine, golden, place);
  if (context.allowance != nullptr) bound = std::max(bound, context.allowance->relative);
  const double most = std::max(std::min(kRestApart * bound, kRestMost), bound);
  if (rest <= most) return std::nullopt;
  return fmt::format("{} {:g} > {:g}: the smaller elements differ, beside large ones", kRestColumn, rest,
                     most);
}

std::optional<std::string> scaled(const Comparison& row, const RowContext& context, const ModelPlace& place) {
  // Honest runs in int8, with tokens that were clipped, reach 2.1 times; a wrong scale is 7 and more.
  constexpr double kFewBits = 0.125, kLeast = 0.05, kAlong = 4, kFewest = 16;
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  double bound = relative_bound(mine, golden, place);
  if (context.allowance != nullptr) bound = std::max(bound, context.allowance->relative);
  if (bound < kFewBits || context.value("count").value_or(0) < kFewest) return std::nullopt;
  if (context.value("ulp_max").value_or(0) <= ulps_allowed(mine, golden, place)) return std::nullopt;
  const auto error = context.value(kErrorColumn);
  const auto m = context.value("mine_norm"), g = context.value("golden_norm");
  // One number throughout falls to one side.
  if (!error || !m || !g || *g == 0 || context.value("golden_min") == context.value("golden_max"))
    return std::nullopt;
  // That brings golden closest to mine.
  const double factor = (*m / *g * (*m / *g) + 1 - *error * *error) / 2, along = std::abs(factor - 1);
  const double across = std::sqrt(std::max(0.0, *error * *error - along * along));
  if (along <= kLeast || along <= kAlong * across) return std::nullopt;
  return fmt::format(
      "{} {:g}: all numbers are {:.3g} times those of golden, which is a scale and no rounding", kErrorColumn,
      *error, factor);
}

std::optional<std::string> vanished(const Comparison& row, const RowContext& context) {
  const double steps = context.value("ulp_max").value_or(0), apart = context.value("rel_l2").value_or(0);
  const bool is_real_pair =
      is_real(component(row.mine.meta->dtype)) && is_real(component(row.golden.meta->dtype));
  if (!is_real_pair || steps <= 1 || apart < 1 || !std::isfinite(apart)) return std::nullopt;
  return fmt::format("rel_l2 {:g}: the difference is as large as golden, though only {:g} steps of the type",
                     apart, steps);
}

std::optional<std::string> other_integer(const Comparison& row, const RowContext& context,
                                         const ModelPlace& place) {
  const DType mine = component(row.mine.meta->dtype), golden = component(row.golden.meta->dtype);
  // Of a quantised layer they are steps, and were made real.
  if (is_real(mine) == is_real(golden) || place.is_quantised) return std::nullopt;
  const double apart = context.value("max_abs").value_or(0);
  if (apart < 0.5 || context.value("ulp_max").value_or(1) == 0) return std::nullopt;
  return fmt::format("max_abs {:g}: {} holds integers, which are not rounded", apart,
                     is_real(mine) ? "golden" : "mine");
}

void refuse_nonfinite(NodeResult& node) {
  for (Comparison& row : node.rows)
    if (row.verdict.level == Level::pass && row.is_nonfinite_apart && row.bounded == nullptr)
      row.verdict.level = Level::fail;
}

}  // namespace assay
