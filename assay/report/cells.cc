#include "assay/report/cells.h"

#include "assay/base/text.h"
#include "assay/support/json_tape.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

// Most cells are plain ASCII that no output has to touch; one look at each byte finds out.
enum : uint8_t { kOdd = 1, kCsv = 2, kJson = 4, kXml = 8 };

constexpr std::array<uint8_t, 256> kTraits = [] {
  std::array<uint8_t, 256> traits{};
  for (size_t c = 0; c < 256; ++c)
    if (c < 0x20 || c >= 0x7F) traits[c] = kOdd;
  traits[','] = kCsv;
  traits['"'] = kCsv | kJson | kXml;
  traits['\\'] = kJson;
  for (const char c : {'&', '<', '>', '\''}) traits[static_cast<size_t>(c)] = kXml;
  return traits;
}();

uint8_t traits_of(std::string_view text) {
  uint8_t all = 0;
  for (const char c : text) all |= kTraits[static_cast<unsigned char>(c)];
  return all;
}

// shown(), but for line breaks and tabs.
std::string shown_lines(std::string_view text) {
  std::string out;
  while (true) {
    const size_t end = text.find_first_of("\n\t");
    out += shown(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += text[end];
    text.remove_prefix(end + 1);
  }
}

// A text made harmless, copied only where it has to change.
class Shown {
 public:
  explicit Shown(std::string_view text, Breaks breaks = Breaks::shown)
      : view_(text), traits_(traits_of(text)) {
    if ((traits_ & kOdd) == 0) return;
    changed_ = breaks == Breaks::kept ? shown_lines(text) : shown(text);
    view_ = changed_;
    traits_ = traits_of(changed_);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  std::string_view text() const { return view_; }
  bool has(uint8_t trait) const { return (traits_ & trait) != 0; }

 private:
  std::string changed_;
  std::string_view view_;
  uint8_t traits_;
};

bool is_number(std::string_view text) {
  if (!text.empty() && text.back() == '\t') text.remove_suffix(1);  // how msprobe writes infinities
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (!text.empty() && text.back() == '%') text.remove_suffix(1);
  if (text.empty() || text[0] == '+' || text[0] == '-' || text.back() == ')')
    return false;  // "nan(x)" is a call
  return parse_double(text).has_value();
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

// Excel takes 32,767 UTF-16 units; that many bytes of UTF-8 are never more units, and the … and the ' need
// room.
constexpr size_t kSheetTextLimit = 32'700;

// At most `limit` bytes that end between two characters of valid UTF-8.
size_t fitting_length(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

// "_x0041_" in a cell stands for the character U+0041.
bool is_character_code(std::string_view text) {
  if (text.size() < 7 || text[0] != '_' || text[1] != 'x' || text[6] != '_') return false;
  return text.substr(2, 4).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

template <class T>
void append_formatted(std::string& out, T number) {
  char text[40];
  out.append(text, fmt::format_to(text, FMT_COMPILE("{}"), number));
}

}  // namespace

std::string shown(std::string_view text) { return printable(text); }

void append_number(std::string& out, double number) {
  if (std::isnan(number)) {  // fmt would print the sign of a NaN, which means nothing
    out += "nan";
    return;
  }
  append_formatted(out, number);
}

void append_number(std::string& out, int64_t number) { append_formatted(out, number); }

std::string plain(const Value& value) {
  std::string out;
  if (const auto* truth = std::get_if<bool>(&value)) out = *truth ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) append_number(out, *whole);
  if (const auto* number = std::get_if<double>(&value)) append_number(out, *number);
  if (const auto* text = std::get_if<std::string>(&value)) out = shown(*text);
  return out;
}

// "-0.5", or several: "-0.5;0.25".
bool are_numbers(std::string_view text) {
  return std::ranges::all_of(split(text, ';'), [](std::string_view part) { return is_number(part); });
}

bool looks_like_formula(std::string_view text) {
  if (text.empty()) return false;
  // U+FF1D ＝, U+FF0B ＋, U+FF0D －, U+FF20 ＠, U+FF05 ％: some spreadsheets fold them to the narrow ones.
  static constexpr std::string_view kWide[] = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0",
                                               "\xEF\xBC\x85"};
  switch (text[0]) {
    case '=':
    case '+':
    case '-':
    case '@':
    case '%':
    case '\t':
    case '\r':
      return !are_numbers(text);
    case '\xEF':
      break;
    default:
      return false;
  }
  for (const std::string_view wide : kWide)
    if (text.starts_with(wide)) return true;
  return false;
}

void append_csv_text(std::string& out, std::string_view text, Breaks breaks) {
  const Shown cell(text, breaks);
  const bool formula = looks_like_formula(cell.text());
  const bool has_break = cell.has(kOdd) && cell.text().find('\n') != std::string_view::npos;
  if (!cell.has(kCsv) && !has_break) {
    if (formula) out += '\'';
    out += cell.text();
    return;
  }
  out += formula ? "\"'" : "\"";
  for (const char c : cell.text()) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_csv(std::string& out, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    append_csv_text(out, *text);
  else if (const auto* number = std::get_if<double>(&value))
    append_number(out, *number);
  else if (const auto* whole = std::get_if<int64_t>(&value))
    append_number(out, *whole);
  else if (const auto* truth = std::get_if<bool>(&value))
    out += *truth ? "true" : "false";
}

void append_python_csv(std::string& out, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    append_csv_text(out, *text, Breaks::kept);
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (std::isnan(*number)) return;
    if (std::isinf(*number)) out += ' ';  // as msprobe keeps spreadsheets from reading it
    append_python_float(out, *number);
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    out += *truth ? "True" : "False";
  } else {
    append_csv(out, value);
  }
}

void append_written_csv(std::string& out, const Value& value, std::string_view unit) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return append_python_csv(out, value);
  append_python_float(out, *number);
  out += unit;
}

void append_json(std::string& out, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    append_json_text(out, *text);
  } else if (const auto* number = std::get_if<double>(&value)) {
    if (!std::isfinite(*number)) out += '"';
    append_number(out, *number);
    if (!std::isfinite(*number)) out += '"';
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    append_number(out, *whole);
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

void append_json_text(std::string& out, std::string_view text) {
  const Shown cell(text);  // no control characters are left, so two escapes are enough
  out += '"';
  if (cell.has(kJson)) {
    for (const char c : cell.text()) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  } else {
    out += cell.text();
  }
  out += '"';
}

void append_xml_text(std::string& out, std::string_view text) {
  const Shown cell(text);
  if (cell.has(kXml))
    append_escaped(out, cell.text());
  else
    out += cell.text();
}

void append_sheet_text(std::string& out, std::string_view text, Breaks breaks) {
  const Shown cell(text, breaks);
  if (looks_like_formula(cell.text())) out += "&#39;";
  if (!cell.has(kXml) && cell.text().size() <= kSheetTextLimit &&
      cell.text().find("_x") == std::string_view::npos) {
    out += cell.text();
    return;
  }
  const std::string_view kept = cell.text().substr(0, fitting_length(cell.text(), kSheetTextLimit));
  for (size_t i = 0; i < kept.size(); ++i) {
    if (is_character_code(kept.substr(i)))
      out += "_x005F_";
    else
      append_escaped(out, kept.substr(i, 1));
  }
  if (kept.size() < cell.text().size()) out += "…";
}

}  // namespace assay
