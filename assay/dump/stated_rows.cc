#include "assay/dump/stated_rows.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"

#include <algorithm>

namespace assay {
namespace {

constexpr size_t kShownOfCell = 40;

}  // namespace

std::optional<int64_t> parse_count(std::string_view cell) {
  if (const size_t point = cell.find('.'); point != std::string_view::npos && point + 1 < cell.size() &&
                                           cell.find_first_not_of('0', point + 1) == std::string_view::npos)
    cell = cell.substr(0, point);
  const bool is_plain = !cell.empty() && cell.find_first_not_of("0123456789") == std::string_view::npos;
  return is_plain ? parse_int(cell) : std::nullopt;
}

bool StatedCells::says_none(std::string_view cell) const {
  return cell.empty() || std::ranges::find(none_, cell) != none_.end();
}

Value StatedCells::number(std::string_view title, std::string_view cell) {
  if (says_none(cell)) return {};
  if (const auto whole = parse_int(cell)) return *whole;
  if (const auto real = parse_double(cell)) return *real;
  complain(fmt::format("{} is '{}', not a number", title, printable(cell.substr(0, kShownOfCell))));
  return {};
}

std::optional<int64_t> StatedCells::count(std::string_view title, std::string_view cell) {
  if (says_none(cell)) return std::nullopt;
  const auto number = parse_count(cell);
  if (!number)
    complain(
        fmt::format("{} is '{}', not a number of things", title, printable(cell.substr(0, kShownOfCell))));
  return number;
}

void StatedCells::complain_of_shape(std::string_view cell) {
  complain(fmt::format("Shape is '{}', not a shape", printable(cell.substr(0, kShownOfCell))));
}

Nonfinite StatedCells::nonfinite(std::optional<int64_t> nans, std::optional<int64_t> minus_infs,
                                 std::optional<int64_t> plus_infs) {
  const auto infs = minus_infs && plus_infs ? checked_add(*minus_infs, *plus_infs) : std::optional<int64_t>();
  if (minus_infs && plus_infs && !infs) complain("it counts more infinities than there can be");
  return {.nans = nans.value_or(-1), .infs = infs.value_or(-1), .minus_infs = minus_infs.value_or(-1)};
}

}  // namespace assay
