#include "assay/run/inspect/print_values.h"

#include "assay/run/inspect/print_numbers.h"

#include <algorithm>

namespace assay {
namespace {

// What NumPy does unless told otherwise.
constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 75;

constexpr size_t kMaxDimensions = 32;
constexpr int64_t kMaxShown = 100'000;  // six per dimension adds up

// The coordinates of one dimension that are printed: all of them, or the first and last few.
struct ShownAxis {
  std::vector<int64_t> coordinates;
  size_t gap = 0;  // dots stand before this one; 0: none
  int64_t stride = 1;
};

std::vector<ShownAxis> choose_shown(const Shape& shape) {
  const bool summarised = shape.count() > kThreshold;
  std::vector<ShownAxis> axes(shape.dims.size());
  int64_t stride = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    const int64_t extent = shape.dims[a];
    axes[a].stride = stride;
    stride *= extent;
    const bool cut = summarised && extent > 2 * kEdge;
    for (int64_t i = 0; i < (cut ? kEdge : extent); ++i) axes[a].coordinates.push_back(i);
    if (!cut) continue;
    axes[a].gap = kEdge;
    for (int64_t i = extent - kEdge; i < extent; ++i) axes[a].coordinates.push_back(i);
  }
  return axes;
}

// Counts `place` up like an odometer over axes [0, end); the axis that moved, or nothing at the end.
std::optional<size_t> advance(const std::vector<ShownAxis>& axes, size_t end, std::vector<size_t>& place) {
  for (size_t a = end; a-- > 0;) {
    if (++place[a] < axes[a].coordinates.size()) return a;
    place[a] = 0;
  }
  return std::nullopt;
}

// The elements of all printed rows, one after another.
Result<std::vector<std::byte>> read_shown(const Operand& operand, const std::vector<ShownAxis>& axes) {
  const ShownAxis& row = axes.back();
  const int64_t size = size_of(operand.meta.dtype);
  const auto head = static_cast<int64_t>(row.gap == 0 ? row.coordinates.size() : row.gap);
  const int64_t tail = std::ssize(row.coordinates) - head;
  std::vector<std::byte> out;
  std::vector<size_t> place(axes.size());
  Scratch scratch;
  const auto take = [&](int64_t first, int64_t count) -> Result<void> {
    for (int64_t done = 0; done < count;) {
      const int64_t now = std::min(count - done, kBlockElements);
      const size_t at = out.size();
      out.resize(at + static_cast<size_t>(now * size));
      ASSAY_TRY_DO(operand.read(first + done, now, std::span(out).subspan(at), scratch));
      done += now;
    }
    return {};
  };
  do {
    int64_t start = 0;
    for (size_t a = 0; a + 1 < axes.size(); ++a) start += axes[a].coordinates[place[a]] * axes[a].stride;
    ASSAY_TRY_DO(take(start, head));
    if (tail > 0) ASSAY_TRY_DO(take(start + row.coordinates[row.gap], tail));
  } while (advance(axes, axes.size() - 1, place));
  return out;
}

// One innermost row: words side by side, wrapped at the line width. `out` stands behind the opening bracket.
void print_row(std::string& out, std::span<const std::string> words, size_t gap, size_t dimensions) {
  const size_t limit = kLineWidth - std::min(dimensions, kLineWidth);
  std::string line(dimensions, ' ');  // brackets and indentation of the first line are as long
  const auto add = [&](std::string_view word) {
    if (line.size() + word.size() > limit && line.size() > dimensions) {
      line.erase(line.find_last_not_of(' ') + 1);
      out.append(line, std::min(line.size(), dimensions));
      out += '\n' + std::string(dimensions, ' ');
      line.assign(dimensions, ' ');
    }
    line += word;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (gap != 0 && i == gap) {
      add("...");
      line += ' ';
    }
    add(words[i]);
    if (i + 1 < words.size()) line += ' ';
  }
  out.append(line, dimensions);
}

std::string lay_out(const std::vector<ShownAxis>& axes, const std::vector<std::string>& words) {
  const size_t dimensions = axes.size(), outer = dimensions - 1;
  const size_t row_length = axes.back().coordinates.size();
  std::string out;
  std::vector<size_t> place(dimensions);
  size_t opens = dimensions;  // brackets before this row
  for (size_t at = 0;; at += row_length) {
    out += std::string(dimensions - opens, ' ') + std::string(opens, '[');
    print_row(out, std::span(words).subspan(at, row_length), axes.back().gap, dimensions);
    const auto moved = advance(axes, outer, place);
    if (!moved) return out + std::string(dimensions, ']');
    opens = outer - *moved;
    const std::string separator(outer - *moved, '\n');
    out += std::string(opens, ']') + separator;
    if (axes[*moved].gap != 0 && place[*moved] == axes[*moved].gap)
      out += std::string(*moved + 1, ' ') + "..." + separator;
  }
}

}  // namespace

Result<std::string> print_values(const Operand& operand) {
  const auto& [dtype, shape] = operand.meta;
  if (shape.count() == 0) return "[]";
  if (shape.dims.empty()) {
    std::byte element[16];
    Scratch scratch;
    const std::span<std::byte> bytes(element, static_cast<size_t>(size_of(dtype)));
    ASSAY_TRY_DO(operand.read(0, 1, bytes, scratch));
    return print_scalar(dtype, bytes);
  }
  std::string remark;
  std::vector<ShownAxis> axes = choose_shown(shape);
  int64_t shown = 1;
  for (const ShownAxis& axis : axes) shown = std::min(kMaxShown + 1, shown * std::ssize(axis.coordinates));
  if (shown > kMaxShown || axes.size() > kMaxDimensions) {
    remark = fmt::format("({} dimensions, shown as one)\n", shape.dims.size());
    axes = choose_shown(Shape{{shape.count()}});
  }
  ASSAY_TRY(const std::vector<std::byte> elements, read_shown(operand, axes));
  return remark + lay_out(axes, print_elements(dtype, elements));
}

}  // namespace assay
