#include "assay/report/detail_text.h"

#include "assay/base/columns.h"
#include "assay/base/text.h"
#include "assay/report/terminal_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kNarrowest = 40, kLabel = 12, kMostMapRows = 32;
constexpr int64_t kMostBars = 64;
constexpr double kDecades = 3;  // that the shades of errors cover: what is smaller is the lightest

std::string number(double value) { return fmt::format("{:.4g}", value); }

// Drawn in one character each: the lightest is nothing at all.
struct Palette {
  std::array<std::string_view, 9> bars;
  std::array<std::string_view, 5> blocks;
  std::string_view nonfinite, range;
};
const Palette kUnicode = {{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, {" ", "░", "▒", "▓", "█"}, "×", "…"};
const Palette kAscii = {{" ", ".", ":", "-", "=", "+", "*", "#", "@"}, {" ", ".", ":", "*", "#"}, "x", ".."};

const Palette& palette_of(Shades shades) { return shades == Shades::unicode ? kUnicode : kAscii; }

// 0 for nothing, 1 to most otherwise.
size_t even_level(double share, size_t most) {
  if (!(share > 0)) return 0;
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(share * static_cast<double>(most))), 1, most);
}
size_t log_level(double value, double largest, size_t most) {
  if (!(value > 0)) return 0;
  if (!(value < largest)) return most;
  return even_level(1 + std::log10(value / largest) / kDecades, most) == 0
             ? 1
             : even_level(1 + std::log10(value / largest) / kDecades, most);
}

// As many entries as fit, each the largest of those that it stands for.
std::vector<double> narrowed_to(std::span<const double> values, int64_t most) {
  const int64_t together = std::max<int64_t>(1, (std::ssize(values) + most - 1) / most);
  std::vector<double> out;
  for (int64_t first = 0; first < std::ssize(values); first += together) {
    double largest = kNan;
    for (int64_t i = first; i < std::min(first + together, std::ssize(values)); ++i) {
      const double value = values[static_cast<size_t>(i)];
      if (!(value <= largest)) largest = std::isnan(value) ? largest : value;
    }
    out.push_back(largest);
  }
  return out;
}

std::string bars_of_counts(const std::vector<int64_t>& counts, const Palette& palette) {
  const int64_t top = std::max<int64_t>(1, *std::ranges::max_element(counts));
  std::string out;
  for (const int64_t count : counts)
    out += palette.bars[even_level(static_cast<double>(count) / static_cast<double>(top), 8)];
  return out;
}

std::string label(std::string_view text) { return fmt::format("  {:<{}}", text, kLabel); }

void add_values(const Detail& detail, const Palette& palette, std::string& out) {
  if (detail.finite == 0) return;
  const std::string range = fmt::format("{} {} {}{}", number(detail.edges.front()), palette.range,
                                        number(detail.edges.back()), detail.is_logarithmic ? ", log" : "");
  out += fmt::format("{}{}  {}\n", label("golden"), bars_of_counts(detail.golden_values, palette), range);
  out += fmt::format("{}{}\n", label("mine"), bars_of_counts(detail.mine_values, palette));
  if (detail.differences.empty()) return;
  std::string bars;  // two bins of a power of two as one
  std::vector<int64_t> counts;
  const size_t together = detail.differences.size() > 2 * kMostBars
                              ? detail.differences.size() / kMostBars + 1
                          : detail.differences.size() > kMostBars ? 2
                                                                  : 1;
  for (size_t i = 0; i < detail.differences.size(); i += together) {
    counts.push_back(0);
    for (size_t k = i; k < std::min(i + together, detail.differences.size()); ++k)
      counts.back() += detail.differences[k];
  }
  out += fmt::format("{}{}  {} {} {}, log; {} of {} equal\n", label("|difference|"),
                     bars_of_counts(counts, palette), number(detail.difference_edges.front()), palette.range,
                     number(detail.difference_edges.back()), detail.zero_differences, detail.finite);
}

std::string of_axis(const DetailAxis& axis, std::string_view word, int64_t together) {
  if (axis.dimension < 0) return {};
  const int64_t step = axis.step * together;
  return fmt::format("{}: dim {} (of {}{})", word, axis.dimension, axis.size,
                     step == 1 ? "" : fmt::format(", {} each", step));
}

void add_map(const Detail& detail, int width, const Palette& palette, std::string& out) {
  const DetailMap& map = detail.map;
  const int64_t rows = map.rows.entries(), columns = map.columns.entries();
  if (rows * columns < 2) return;
  const int64_t down = (rows + kMostMapRows - 1) / kMostMapRows;
  const int64_t across = (columns + width - 5) / (width - 4);
  double largest = 0;
  for (const double value : map.max_abs)
    if (value > largest) largest = value;
  if (largest == 0 && map.nonfinite.empty()) return;
  std::string where = of_axis(map.rows, "down", down);
  where += (where.empty() ? "" : "; ") + of_axis(map.columns, "across", across);
  out += wrapped(fmt::format("largest |difference| of each block, '{}' {} to {} a thousandth of it; {}",
                             palette.blocks.back(), number(largest), palette.blocks[1], where),
                 width, 2);
  for (int64_t row = 0; row < rows; row += down) {
    std::string line = "  ";
    for (int64_t column = 0; column < columns; column += across) {
      double value = 0;
      bool is_apart = false;
      for (int64_t r = row; r < std::min(row + down, rows); ++r)
        for (int64_t c = column; c < std::min(column + across, columns); ++c) {
          const auto i = static_cast<size_t>(r * columns + c);
          if (map.max_abs[i] > value) value = map.max_abs[i];
          is_apart |= !map.nonfinite.empty() && map.nonfinite[i] > 0;
        }
      line += is_apart ? palette.nonfinite : palette.blocks[log_level(value, largest, 4)];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  if (!map.nonfinite.empty()) out += fmt::format("  {}: NaN or infinities on one side\n", palette.nonfinite);
}

void add_profiles(const Detail& detail, int width, const Palette& palette, std::string& out) {
  const int64_t most = std::clamp<int64_t>(width - 2 - kLabel - 26, 16, kMostBars);
  for (const DetailProfile& profile : detail.profiles) {
    double largest = 0;
    size_t at = 0;
    for (size_t i = 0; i < profile.rel_l2.size(); ++i)
      if (profile.rel_l2[i] > largest) largest = profile.rel_l2[at = i];
    std::string line = label(fmt::format("along dim {}", profile.axis.dimension));
    if (largest == 0) {
      const bool is_apart = !profile.nonfinite.empty();
      if (!is_apart) continue;
    }
    double finite = 0;  // what is infinite has the darkest shade anyway
    for (const double value : profile.rel_l2)
      if (std::isfinite(value)) finite = std::max(finite, value);
    for (const double value : narrowed_to(profile.rel_l2, most))
      line += palette.bars[log_level(value, finite > 0 ? finite : 1, 8)];
    const int64_t first = static_cast<int64_t>(at) * profile.axis.step;
    const int64_t last = std::min(profile.axis.size, first + profile.axis.step) - 1;
    if (largest > 0)
      line += fmt::format("  rel_l2 {} at {}", number(largest),
                          first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last));
    out += line + '\n';
  }
}

void add_window(const Detail& detail, int width, std::string& out) {
  if (detail.worst.empty()) return;
  const DetailWindow& window = detail.window;
  const auto exact = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.9g}", value) : fmt::format("{}", value);
  };
  out += fmt::format("  worst element {}: mine {}, golden {}\n", Shape{detail.worst}.text(),
                     exact(detail.worst_mine), exact(detail.worst_golden));
  if (window.rows * window.columns < 2 || window.mine.empty()) return;
  std::vector<TerminalColumn> table = {
      {.title = window.row_dimension < 0 ? "" : fmt::format("dim {}", window.row_dimension),
       .flexible = true},
      {.title = ""}};
  const auto near = [](double value) { return fmt::format("{:.5g}", value); };
  for (int64_t row = 0; row < window.rows; ++row) {
    const std::string name = window.row_dimension < 0 ? "" : fmt::format("{}", window.first_row + row);
    for (const std::string_view side : {"mine", "golden"}) {
      table[0].cells.push_back(side == "mine" ? name : "");
      table[1].cells.emplace_back(side);
    }
  }
  for (int64_t column = 0; column < window.columns; ++column) {
    TerminalColumn& shown = table.emplace_back(TerminalColumn{
        .title = fmt::format("{}", window.first_column + column), .right_aligned = true, .optional = true});
    for (int64_t row = 0; row < window.rows; ++row) {
      const auto i = static_cast<size_t>(row * window.columns + column);
      shown.cells.push_back(near(window.mine[i]));
      shown.cells.push_back(near(window.golden[i]));
    }
  }
  const std::string text = terminal_table(std::move(table), width - 4);
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += fmt::format("    {}\n", line);
}

}  // namespace

std::string detail_text(const Detail& detail, int width, Shades shades) {
  const Palette& palette = palette_of(shades);
  width = std::max(width, kNarrowest);
  std::string out;
  if (!detail.trouble.empty()) return wrapped(detail.trouble, width, 2);
  const std::string sentence = detail.sentence();
  if (!sentence.empty()) out += wrapped(fmt::format("diagnosis: {}", sentence), width, 2);
  if (detail.count == 0 || detail.equal == detail.count) return out;
  add_values(detail, palette, out);
  add_map(detail, width, palette, out);
  add_profiles(detail, width, palette, out);
  add_window(detail, width, out);
  return out;
}

}  // namespace assay
