#include "assay/dump/python_values.h"

#include <fmt/format.h>

#include <vector>

namespace assay {

bool is_falsy(const JsonTape& tape, size_t place) {
  switch (tape.kind(place)) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return !tape.boolean(place);
    case JsonKind::integer:
      return tape.integer(place) == 0;
    case JsonKind::real:
      return tape.real(place) == 0;
    case JsonKind::text:
      return tape.text(place).empty();
    case JsonKind::object:
    case JsonKind::array:
      return tape.is_end(tape.first(place));
    default:
      return false;
  }
}

bool is_bare(const JsonTape& tape, size_t place) {
  const JsonKind kind = tape.kind(place);
  return kind != JsonKind::null && kind != JsonKind::array && kind != JsonKind::object;
}

std::string_view python_class(const JsonTape& tape, size_t place) {
  if (place == 0) return "<class 'NoneType'>";
  switch (tape.kind(place)) {
    case JsonKind::boolean:
      return "<class 'bool'>";
    case JsonKind::integer:
    case JsonKind::big:
      return "<class 'int'>";
    case JsonKind::real:
      return "<class 'float'>";
    case JsonKind::text:
      return "<class 'str'>";
    case JsonKind::array:
      return "<class 'list'>";
    case JsonKind::object:
      return "<class 'dict'>";
    default:
      return "<class 'NoneType'>";
  }
}

std::string numpy_shape(const JsonTape& tape, size_t place) {
  std::vector<size_t> dims;
  for (; place != 0 && tape.kind(place) == JsonKind::array; place = tape.first(place)) {
    size_t count = 0;
    for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at)) ++count;
    dims.push_back(count);
    if (count == 0) break;
  }
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", dims[i]);
  return out + (dims.size() == 1 ? ",)" : ")");
}

}  // namespace assay
