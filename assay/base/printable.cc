#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

// Text that is honest stays as it is, in any script; the rest is shown byte for byte. Twice is as once, so
// that text may be cleaned where it is read and again where it is written.

namespace assay {
namespace {

struct Character {
  size_t length;  // 0: no valid UTF-8 here
  char32_t code;
};

Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {0, 0};
  char32_t code = first & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (is_overlong || is_surrogate || code > 0x10FFFF) return {0, 0};
  return {length, code};
}

struct Range {
  char32_t first, last;
};

// Characters that steer or that nobody sees. Marks that are drawn (U+0600 to U+0605), all spaces that have a
// width, and private characters, which fonts of terminals use, are not among them.
constexpr Range kHidden[] = {
    {0x00, 0x1F},        // C0 controls
    {0x7F, 0x9F},        // delete, C1 controls
    {0xAD, 0xAD},        // soft hyphen
    {0x34F, 0x34F},      // grapheme joiner
    {0x61C, 0x61C},      // Arabic letter mark: direction
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // Khmer vowels that are not drawn
    {0x180B, 0x180F},    // Mongolian selectors, vowel separator
    {0x200B, 0x200F},    // zero widths, joiners, marks of direction
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides of direction
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates of direction
    {0x3164, 0x3164},    // Hangul filler
    {0xFDD0, 0xFDEF},    // no characters
    {0xFE00, 0xFE0F},    // variation selectors
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF0, 0xFFFB},    // unassigned, annotations
    {0xFFFE, 0xFFFF},    // no characters
    {0x1BCA0, 0x1BCA3},  // shorthand controls
    {0x1D173, 0x1D17A},  // musical controls
    {0xE0000, 0xE0FFF},  // tags, more variation selectors
};

bool is_hidden(char32_t code) {
  if ((code & 0xFFFE) == 0xFFFE) return true;  // the last two of every plane are no characters
  const Range* const after = std::upper_bound(std::begin(kHidden), std::end(kHidden), code,
                                              [](char32_t c, const Range& range) { return c < range.first; });
  return after != std::begin(kHidden) && code <= std::prev(after)->last;
}

bool is_joiner(char32_t code) { return code == 0x200C || code == 0x200D; }
bool is_selector(char32_t code) { return code >= 0xFE00 && code <= 0xFE0F; }

// Emoji and several scripts need joiners and variation selectors: behind a character of theirs, one of each
// changes what is seen. Anywhere else they only make two names look the same.
class Shaping {
 public:
  bool keeps(char32_t code) const {
    return (is_selector(code) && behind_ == Behind::character) ||
           (is_joiner(code) && behind_ != Behind::nothing);
  }
  void pass(char32_t code, bool is_kept) {
    if (!is_kept || code < 0x80 || is_joiner(code))
      behind_ = Behind::nothing;
    else
      behind_ = is_selector(code) ? Behind::selector : Behind::character;
  }

 private:
  enum class Behind : uint8_t { nothing, character, selector };
  Behind behind_ = Behind::nothing;
};

}  // namespace

bool begins_as_text(std::string_view start) {
  constexpr size_t kLongestCharacter = 4;
  while (!start.empty()) {
    const Character next = first_of(start);
    if (next.length == 0)
      return start.size() < kLongestCharacter && static_cast<unsigned char>(start.front()) >= 0xC2;
    const bool is_control = next.code < ' ' || (next.code >= 0x7F && next.code <= 0x9F);
    if (is_control && next.code != '\n' && next.code != '\r' && next.code != '\t') return false;
    start.remove_prefix(next.length);
  }
  return true;
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  Shaping shaping;
  while (!text.empty()) {
    const auto [length, code] = first_of(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(length, 1));
    const bool is_kept = length > 0 && (!is_hidden(code) || shaping.keeps(code));
    if (is_kept)
      out += bytes;
    else
      for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    shaping.pass(code, is_kept);
    text.remove_prefix(bytes.size());
  }
  return out;
}

std::string printable_name(std::string_view raw) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  std::string out;
  size_t begin = 0;
  for (size_t i = 0; i + 3 < raw.size(); ++i)
    if (raw[i] == '\\' && raw[i + 1] == 'x' && is_hex(raw[i + 2]) && is_hex(raw[i + 3])) {
      out += printable(raw.substr(begin, i - begin));
      out += "\\x5c";
      begin = i + 1;
    }
  return out + printable(raw.substr(begin));
}

bool is_plain(std::string_view text) {
  bool plain = true;
  for (const char c : text) plain &= c >= 0x20 && c < 0x7F;
  return plain;
}

}  // namespace assay
