#include "assay/support/json_tape.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>

namespace assay {

size_t JsonTape::find(size_t object, std::string_view key) const {
  if (kind(object) != JsonKind::object) return 0;
  size_t found = 0;
  for (size_t place = first(object); !is_end(place); place = next(place + 1))
    if (text(place) == key) found = place + 1;
  return found;
}

namespace {

void append_str(std::string& out, const JsonTape& tape, size_t place, bool quoted);

void append_items(std::string& out, const JsonTape& tape, size_t place, bool is_object) {
  bool first = true;
  for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at)) {
    if (!first) out += ", ";
    first = false;
    if (is_object) {
      out += python_repr(tape.text(at));
      out += ": ";
      ++at;
    }
    append_str(out, tape, at, true);
  }
}

// Recursion ends at kJsonDepth: deeper values are not on the tape.
void append_str(std::string& out, const JsonTape& tape, size_t place, bool quoted) {
  switch (tape.kind(place)) {
    case JsonKind::null:
    case JsonKind::end:
      out += "None";
      break;
    case JsonKind::boolean:
      out += tape.boolean(place) ? "True" : "False";
      break;
    case JsonKind::integer:
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), tape.integer(place));
      break;
    case JsonKind::real:
      append_python_float(out, tape.real(place));
      break;
    case JsonKind::big:
      out += tape.text(place);
      break;
    case JsonKind::text:
    case JsonKind::key:
      out += quoted ? python_repr(tape.text(place)) : std::string(tape.text(place));
      break;
    case JsonKind::object:
      out += '{';
      append_items(out, tape, place, true);
      out += '}';
      break;
    case JsonKind::array:
      out += '[';
      append_items(out, tape, place, false);
      out += ']';
      break;
  }
}

}  // namespace

std::string python_str(const JsonTape& tape, size_t place) {
  std::string out;
  append_str(out, tape, place, false);
  return out;
}

std::string python_repr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (c == quote)
          (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  return out + quote;
}

void append_python_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  char text[40];
  out.append(text, fmt::format_to(text, FMT_COMPILE("{}"), value));
  if (std::trunc(value) == value && std::abs(value) < 1e16)
    out += ".0";  // else it has a point or an exponent
}

}  // namespace assay
