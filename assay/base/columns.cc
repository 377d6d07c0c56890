#include "assay/base/columns.h"

#include "assay/base/text.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace assay {
namespace {

struct WidthRange {
  uint32_t first, last;
};
// The blocks that matter of Unicode's EastAsianWidth.txt (W and F) and of its combining marks.
constexpr WidthRange kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr WidthRange kZero[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}};

bool is_among(std::span<const WidthRange> ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const WidthRange& r) { return r.first <= code && code <= r.last; });
}

ShownCharacter first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x80) return {1, 1};
  const size_t size = std::min(byte(0) >= 0xF0   ? size_t{4}
                               : byte(0) >= 0xE0 ? size_t{3}
                                                 : size_t{2},
                               text.size());
  uint32_t code = byte(0) & (0xFFU >> (size + 1));
  for (size_t i = 1; i < size; ++i) code = (code << 6) | (byte(i) & 0x3FU);
  return {size, is_among(kZero, code) ? 0 : is_among(kWide, code) ? 2 : 1};
}

}  // namespace

std::vector<ShownCharacter> characters(std::string_view text) {
  std::vector<ShownCharacter> out;
  while (!text.empty()) {
    out.push_back(first_character(text));
    text.remove_prefix(out.back().size);
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  for (const ShownCharacter& c : characters(text)) width += c.width;
  return width;
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string out, line(static_cast<size_t>(indent), ' ');
  bool is_begun = false;
  const auto next_line = [&] {
    out += line + '\n';
    line.assign(static_cast<size_t>(indent) + 2, ' ');
    is_begun = false;
  };
  const auto add = [&](std::string_view part) {
    if (is_begun && display_width(line) + 1 + display_width(part) > width) next_line();
    if (is_begun) line += ' ';
    line += part;
    is_begun = true;
  };
  while (!text.empty()) {
    const size_t end = text.find("; ");
    const std::string_view part = text.substr(0, end == std::string_view::npos ? end : end + 1);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (indent + 2 + display_width(part) <= width)
      add(part);
    else
      for (const std::string_view word : split(part, ' ')) add(word);
  }
  return out + line + '\n';
}

}  // namespace assay
