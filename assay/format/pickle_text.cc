#include "assay/format/pickle_text.h"

#include <charconv>
#include <cstdint>

namespace assay {
namespace {

std::optional<uint32_t> hex(std::string_view digits) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

void append_utf8(std::string& text, uint32_t code) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace

std::optional<std::string> unquote_python(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back() ||
      (literal.front() != '\'' && literal.front() != '"'))
    return std::nullopt;
  const std::string_view inside = literal.substr(1, literal.size() - 2);
  std::string text;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      text.push_back(inside[i]);
      continue;
    }
    if (++i == inside.size()) return std::nullopt;
    switch (inside[i]) {
      case 'n':
        text.push_back('\n');
        break;
      case 'r':
        text.push_back('\r');
        break;
      case 't':
        text.push_back('\t');
        break;
      case '\\':
      case '\'':
      case '"':
        text.push_back(inside[i]);
        break;
      case 'x': {
        const auto code = inside.size() - i > 2 ? hex(inside.substr(i + 1, 2)) : std::nullopt;
        if (!code) return std::nullopt;
        text.push_back(static_cast<char>(*code));
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return text;
}

std::optional<std::string> decode_raw_unicode(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == 'u' || line[i + 1] == 'U');
    if (!escape) {
      append_utf8(text, static_cast<unsigned char>(line[i]));
      continue;
    }
    const size_t digits = line[i + 1] == 'u' ? 4 : 8;
    if (line.size() - i - 2 < digits) return std::nullopt;
    const auto code = hex(line.substr(i + 2, digits));
    if (!code || *code > 0x10FFFF) return std::nullopt;
    append_utf8(text, *code);
    i += 1 + digits;
  }
  return text;
}

std::optional<std::string> to_latin1(std::string_view utf8) {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    if (first < 0x80) {
      bytes.push_back(utf8[i]);
      continue;
    }
    if ((first != 0xC2 && first != 0xC3) || ++i == utf8.size()) return std::nullopt;
    const auto second = static_cast<unsigned char>(utf8[i]);
    if ((second & 0xC0) != 0x80) return std::nullopt;
    bytes.push_back(static_cast<char>((first & 0x03) << 6 | (second & 0x3F)));
  }
  return bytes;
}

}  // namespace assay
