#include "assay/report/terminal_text.h"

#include "assay/base/text.h"
#include "assay/report/cells.h"
#include "assay/report/terminal_table.h"
#include "assay/report/verdict_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr int kBar = 24, kShortBar = 8;  // the longest, where there is room for it, and where there is not
constexpr double kLeastDecades = 1;      // that a bar of full length stands for
constexpr double kRoom = 1.25;           // the smallest error has a bar still
constexpr int kMostDigits = 17;
constexpr int kNarrowest = 40;
constexpr std::string_view kRed = "\x1b[1;31m", kGreen = "\x1b[1;32m", kYellow = "\x1b[1;33m",
                           kGrey = "\x1b[90m";

std::string near_value(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : plain(Value(value));
}

// In eighths of a column.
std::string bar_of(double length) {
  static constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<size_t>(std::lround(length * 8));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + std::string(kEighths[eighths % 8]);
}

}  // namespace

int text_width(const Head& head) { return std::max(head.terminal_width, kNarrowest); }

std::string_view colour_of(Level level) {
  switch (level) {
    case Level::pass:
      return kGreen;
    case Level::ignored:
      return kGrey;
    case Level::fail:
      return kRed;
    case Level::error:
      return kYellow;
  }
  return "";
}

std::string sentence_line(const Summary& summary, const Head& head) {
  const VerdictSentence verdict = verdict_sentence(summary);
  const std::string_view colour = verdict.answer == Answer::pass   ? kGreen
                                  : verdict.answer == Answer::fail ? kRed
                                                                   : kYellow;
  const std::string coloured =
      head.colour ? fmt::format("{}{}{}", colour, verdict.head, kResetColour) : verdict.head;
  if (!head.wraps_verdict) return fmt::format("{} {}\n", coloured, verdict.rest);
  const std::string lines = wrapped(verdict.text(), text_width(head), 0);
  // A head of several words may be broken where nobody would colour it.
  return lines.starts_with(verdict.head) ? coloured + lines.substr(verdict.head.size()) : lines;
}

std::string first_few(std::string_view what, std::span<const std::string> names) {
  constexpr size_t kMost = 4;
  std::string out(what);
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", shown(names[i]));
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out + '\n';
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string brief(const Value& value) {
  const std::optional<double> number = number_of(value);
  if (!number || std::isnan(*number)) return plain(value);
  if (std::holds_alternative<int64_t>(value) && std::abs(*number) < 1e9) return plain(value);
  int digits = 4;
  std::string text = fmt::format("{:.{}g}", *number, digits);
  while (text == "1" && *number < 1 && digits < kMostDigits) text = fmt::format("{:.{}g}", *number, ++digits);
  return text;
}

std::string names_of(const RowPlace& place, int width) {
  if (place.mine == place.golden && place.mine.starts_with(place.node)) return shown(place.mine);
  // A file, and a tensor in it; a tensor, and the part of it that is meant.
  const bool is_in_node =
      place.mine.starts_with(place.node + ":") || place.mine.starts_with(place.node + "[");
  if (is_in_node && !place.golden.empty()) {
    const std::string mine = shown(place.mine), golden = shown(place.golden);
    constexpr int kTitle = 30;  // what stands before them, and between
    if (display_width(mine) + display_width(golden) + kTitle <= width)
      return fmt::format("{} (golden {})", mine, golden);
    return fmt::format("{}\n  against {}", mine, golden);
  }
  std::string out = shown(place.node);
  if (place.mine.empty() || place.golden.empty()) {
    const bool is_of_mine = place.golden.empty();
    const std::string_view side = is_of_mine ? "mine" : "golden", other = is_of_mine ? "golden" : "mine";
    const std::string& name = is_of_mine ? place.mine : place.golden;
    // In a place of its own it has no more to do with the node than that it follows it.
    const bool is_of_node = name.starts_with(place.node) && !name.starts_with(place.node + ":");
    if (name == place.node || !is_of_node) return fmt::format("{} (only in {})", shown(name), side);
    return out + fmt::format(" ({} {}, not in {})", side, shown(name), other);
  }
  const bool is_mine_known = place.mine == place.node, is_golden_known = place.golden == place.node;
  if (place.mine == place.golden && !is_mine_known) return out + fmt::format(" ({})", shown(place.mine));
  if (!is_mine_known && !is_golden_known)
    return out + fmt::format(" (mine {}, golden {})", shown(place.mine), shown(place.golden));
  if (!is_mine_known) return out + fmt::format(" (mine {})", shown(place.mine));
  if (!is_golden_known) return out + fmt::format(" (golden {})", shown(place.golden));
  return out;
}

std::string neighbourhood(const Comparison& row, int64_t worst, int width) {
  if (!row.near || !row.mine.meta || is_complex(row.mine.meta->dtype)) return {};
  const Shape& shape = row.mine.meta->shape;
  if (shape.dims.empty() || worst < 0 || worst >= shape.count()) return {};
  const int64_t length = shape.dims.back(), row_begin = worst - worst % length;
  int64_t first = std::max(row.near->first, row_begin);
  int64_t last = std::min(row.near->first + row.near->count, row_begin + length);
  TerminalColumn side{.title = "", .cells = {"mine", "golden"}, .flexible = true};
  std::vector<TerminalColumn> table;
  const auto lay_out = [&] {
    table = {side};
    for (int64_t i = first; i < last; ++i) {
      const auto at = static_cast<size_t>(i - row.near->first);
      table.push_back({.title = coordinates(shape, i),
                       .cells = {near_value(row.near->mine[at]), near_value(row.near->golden[at])},
                       .right_aligned = true});
    }
    int total = 4;
    for (const TerminalColumn& column : table) {
      int widest = display_width(column.title);
      for (const std::string& cell : column.cells) widest = std::max(widest, display_width(cell));
      total += widest + 2;
    }
    return total;
  };
  // Narrow terminals show fewer of them, the nearest.
  while (lay_out() > width && last - first > 1) worst - first > last - 1 - worst ? ++first : --last;
  if (last - first < 2) return {};
  const std::string text = terminal_table(std::move(table), width - 4);
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += fmt::format("    {}\n", line);
  return out;
}

std::string trend(std::span<const TrendRow> rows, int width) {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (const TrendRow& row : rows)
    if (std::isfinite(row.error) && row.error > 0) {
      largest = std::max(largest, row.error);
      smallest = std::min(smallest, row.error);
    }
  const double decades = largest > 0 ? std::max(kRoom * std::log10(largest / smallest), kLeastDecades) : 1;
  TerminalColumn mark{.title = ""}, verdict{.title = "verdict"}, name{.title = "name", .flexible = true},
      error{.title = "rel_l2", .right_aligned = true}, bar{.title = ""};
  for (const TrendRow& row : rows) {
    mark.cells.emplace_back(row.is_marked ? ">" : "");
    verdict.cells.emplace_back(text(row.level));
    name.cells.push_back(row.name);
    error.cells.push_back(std::isfinite(row.error) ? brief(Value(row.error))
                          : std::isinf(row.error)  ? "nan"
                                                   : "-");
  }
  const auto room_for_bars = [&] {
    int room = width;
    for (const TerminalColumn* column : {&mark, &verdict, &name, &error})
      room -= column_width(*column) + kGap;
    return room;
  };
  if (room_for_bars() < kBar) leave_out_common_words(name.cells);
  const int longest = std::clamp(room_for_bars(), kShortBar, kBar);
  for (const TrendRow& row : rows) {
    const double share = std::isinf(row.error) ? 1
                         : row.error > 0       ? 1 + std::log10(row.error / largest) / decades
                                               : 0;
    bar.cells.push_back(bar_of(std::clamp(share, 0.0, 1.0) * longest));
  }
  return terminal_table(
      {std::move(mark), std::move(verdict), std::move(name), std::move(error), std::move(bar)}, width);
}

}  // namespace assay
