#include "assay/model/torch_call.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

// What msprobe puts before a function; "Module" and "Cell" are none.
constexpr std::array<std::string_view, 6> kNameSpaces = {"Functional", "Torch", "Tensor",
                                                         "NPU",        "Aten",  "VF"};

std::string_view plain_name(std::string_view word) {
  const bool is_special = word.starts_with("__") && word.ends_with("__") && word.size() > 4;
  return is_special ? word.substr(2, word.size() - 4) : word;
}

// "__iadd__" and "add_" write to what they were given.
bool works_in_place(std::string_view word) {
  return (word.ends_with('_') && !word.ends_with("__")) || word.starts_with("__i");
}

// "aten.add.Tensor", without the name space and the overload.
std::string_view function_of_target(std::string_view target) {
  const size_t aten = target.find("aten.");
  if (aten == std::string_view::npos) return {};
  target.remove_prefix(aten + 5);
  return target.substr(0, target.find('.'));
}

std::optional<int> number_in(std::string_view word) {
  const auto number = parse_int(word);
  return number && *number >= 0 && *number <= INT32_MAX ? std::optional(static_cast<int>(*number))
                                                        : std::nullopt;
}

}  // namespace

std::string torch_function(const Frame& frame, const Node& node) {
  if (frame.framework == "fx") {
    const std::string_view function = function_of_target(node.type);
    return works_in_place(function) ? std::string() : std::string(function);
  }
  if (frame.framework != "pytorch") return {};
  const auto words = split(node.name, '.');
  if (words.size() < 4 || words.back() != "forward" || !number_in(words[words.size() - 2])) return {};
  if (std::ranges::find(kNameSpaces, words[0]) == kNameSpaces.end() || works_in_place(words[1])) return {};
  return std::string(plain_name(words[1]));
}

ArgumentPlace argument_place(const Frame& frame, const Node& node, const Item& item) {
  if (frame.framework == "fx") {
    // "mm-aten.mm.default.INPUT.1", or ".INPUT.0.2" of a list
    const bool is_part = item.name.ends_with(fmt::format(".{}", item.port.index));
    return is_part ? ArgumentPlace{item.port.index} : ArgumentPlace{item.port.index, 0};
  }
  constexpr std::string_view kInput = ".input.";
  std::string_view rest = item.name;
  if (!rest.starts_with(node.name) || !rest.substr(node.name.size()).starts_with(kInput)) return {};
  rest.remove_prefix(node.name.size() + kInput.size());
  const auto words = split(rest, '.');
  ArgumentPlace found;
  if (words.size() > 2) return {};
  if (const auto place = number_in(words[0]))
    found.place = *place;
  else
    found.name = words[0];
  if (words.size() == 2) found.part = number_in(words[1]).value_or(0);
  return found;
}

}  // namespace assay
