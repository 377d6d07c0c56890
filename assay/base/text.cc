#include "assay/base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace assay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Matches one pattern element against c; `next` is the pattern behind it. A '[' without its ']' stands for
// itself.
bool element_matches(std::string_view pattern, size_t p, char c, size_t& next) {
  next = p + 1;
  if (pattern[p] == '?') return true;
  if (pattern[p] != '[') return pattern[p] == c;
  size_t i = p + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (size_t start = i; i < pattern.size() && (pattern[i] != ']' || i == start); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found |= pattern[i] <= c && c <= pattern[i + 2];
      i += 2;
    } else {
      found |= pattern[i] == c;
    }
  }
  if (i >= pattern.size()) return c == '[';
  next = i + 1;
  return found != negated;
}

}  // namespace

int natural_compare(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      size_t ni = i, nj = j;
      while (ni < a.size() && a[ni] == '0') ++ni;
      while (nj < b.size() && b[nj] == '0') ++nj;
      size_t ei = ni, ej = nj;
      while (ei < a.size() && is_digit(a[ei])) ++ei;
      while (ej < b.size() && is_digit(b[ej])) ++ej;
      if (ei - ni != ej - nj) return ei - ni < ej - nj ? -1 : 1;
      if (const int order = a.substr(ni, ei - ni).compare(b.substr(nj, ej - nj))) return order < 0 ? -1 : 1;
      i = ei;
      j = ej;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]) ? -1 : 1;
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j ? -1 : 1;
  const int order = a.compare(b);  // "01" and "1": some fixed order
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && element_matches(pattern, p, text[t], next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double rounded(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  char text[360];  // the largest double has 309 digits before the point
  char* const end = fmt::format_to_n(text, sizeof text, "{:.{}f}", value, decimals).out;
  return *parse_double({text, static_cast<size_t>(end - text)});
}

std::optional<int64_t> parse_size(std::string_view text) {
  text = trim(text);
  size_t digits = 0;
  while (digits < text.size() && (is_digit(text[digits]) || text[digits] == '.')) ++digits;
  const auto number = parse_double(text.substr(0, digits));
  if (!number || *number < 0) return std::nullopt;
  const std::string unit = to_lower(trim(text.substr(digits)));
  static constexpr std::string_view kUnits = "kmgt";
  double scale = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = kUnits.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (rest != "" && rest != "b" && rest != "i" && rest != "ib"))
      return std::nullopt;
    scale = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = *number * scale;
  if (!(bytes < 9e18)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string format_size(int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace assay
