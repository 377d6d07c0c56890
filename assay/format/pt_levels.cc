#include "assay/format/pt_levels.h"

#include "assay/base/text.h"
#include "assay/format/pt_dict.h"
#include "assay/format/pt_tensor.h"

#include <fmt/format.h>

namespace assay {
namespace {

using Kind = PickleValue::Kind;
using In = NestStep::In;

// What is no number or text as a key becomes one.
Value key_of(const PickleGraph& graph, PickleRef key, size_t index) {
  if (auto plain = plain_value(graph[key])) return std::move(*plain);
  return key_text(graph, key, index);
}

std::optional<NestStep> step_of(const PickleGraph& graph, const PtLevel& level) {
  const size_t index = level.next - 1;
  const bool is_pair = level.form == PtLevel::Form::pairs;
  if (is_pair && index % 2 == 0) return std::nullopt;  // in a key
  NestStep step{.key = static_cast<int64_t>(index), .container = level.container};
  if (is_pair) {
    step.tuple_key = tuple_of_plain(graph, graph[level.items[index - 1]]);
    step.key = step.tuple_key ? Value() : key_of(graph, level.items[index - 1], index / 2);
  }
  if (const auto in = container_kind(graph, level.container)) {
    const bool is_dict = *in == In::dict || *in == In::ordered_dict;
    if (level.is_attributes && *in != In::ordered_dict) return std::nullopt;
    if (!level.label.empty() || is_pair != is_dict) return std::nullopt;
    step.in = *in;
    step.is_attribute = level.is_attributes;
    return step;
  }
  // An object: its parts by their names.
  switch (meaning_of(graph, graph[level.container]).meaning) {
    case PtMeaning::refused:
    case PtMeaning::plain:
      break;
    default:
      return std::nullopt;
  }
  if (is_pair && level.label.empty()) return step;
  std::string name(level.label);
  if (level.form == PtLevel::Form::elements) name += std::to_string(index);
  step.key = std::move(name);
  step.tuple_key.reset();
  return step;
}

}  // namespace

std::optional<std::vector<NestStep>> steps_to(const PickleGraph& graph, std::span<const PtLevel> levels) {
  std::vector<NestStep> steps;
  for (size_t i = 0; i < levels.size(); ++i) {
    // Below it lie the parts of the same container that are still to come.
    if (i + 1 < levels.size() && levels[i + 1].container == levels[i].container) continue;
    auto step = step_of(graph, levels[i]);
    if (!step) return std::nullopt;
    steps.push_back(std::move(*step));
  }
  return steps;
}

std::optional<std::vector<Value>> tuple_of_plain(const PickleGraph& graph, const PickleValue& value) {
  constexpr size_t kMostParts = 16;
  if (value.kind != Kind::tuple || value.items.size() > kMostParts) return std::nullopt;
  std::vector<Value> parts;
  for (const PickleRef item : value.items) {
    auto part = plain_value(graph[item]);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return parts;
}

std::optional<In> container_kind(const PickleGraph& graph, PickleRef ref) {
  const PickleValue& value = graph[ref];
  switch (value.kind) {
    case Kind::list:
    case Kind::set:
      return In::list;
    case Kind::tuple:
      return In::tuple;
    case Kind::dict:
      return In::dict;
    case Kind::call:
      break;
    default:
      return std::nullopt;
  }
  const PtName name = meaning_of(graph, value);
  if (name.meaning == PtMeaning::elements) return name.name == "torch.Size" ? In::tuple : In::list;
  if (name.meaning != PtMeaning::mapping) return std::nullopt;
  return name.name == "collections.OrderedDict" ? In::ordered_dict : In::dict;
}

bool is_empty_container(const PickleGraph& graph, PickleRef ref) {
  const PickleValue& value = graph[ref];
  if (!container_kind(graph, ref)) return false;
  if (value.kind != Kind::call) return value.items.empty();
  return value.items.size() == 2 && graph[value.items[1]].items.empty() && value.state == 0 &&
         value.keywords == 0;
}

bool may_be_plain(const PickleValue& value) {
  switch (value.kind) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
    case Kind::text:
      return true;
    default:
      return value.kind == Kind::bytes && value.is_str;
  }
}

std::optional<Value> plain_value(const PickleValue& value) {
  switch (value.kind) {
    case Kind::none:
      return Value();
    case Kind::boolean:
      return value.integer != 0;
    case Kind::integer:
      return value.integer;
    case Kind::real:
      return value.real;
    case Kind::text:
      return value.text;
    case Kind::bytes:
      // A str of Python 2, if it is text.
      if (value.is_str && printable(value.text) == value.text) return value.text;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace assay
