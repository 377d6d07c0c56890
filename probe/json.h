// JSON as ATB writes it: numbers and the order of members stay as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::probe {

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::string text = {};  // of a string, a number as it is written, "true", "false"
  std::vector<Json> items = {};
  std::vector<std::pair<std::string, Json>> members = {};

  static Json string(std::string value) { return {Kind::string, std::move(value)}; }
  static Json strings(const std::vector<std::string>& values);

  const Json* find(std::string_view key) const;  // null if there is none
  void set(std::string_view key, Json value);    // in its place, or behind the others
};

// Nothing: the text is no JSON, or is nested deeper than any graph is.
std::optional<Json> parse_json(std::string_view text);
std::string compact_text(const Json& value);

}  // namespace assay::probe
