#include "assay/format/pt_dict.h"

#include "assay/base/text.h"

#include <unordered_map>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

// Equal for keys that Python takes for equal: 1, 1.0 and True are one key. Nothing for composite keys.
std::optional<std::string> identity(const PickleValue& key) {
  switch (key.kind) {
    case Kind::none:
      return "n";
    case Kind::boolean:
    case Kind::integer:
      return fmt::format("i{}", key.integer);
    case Kind::real:
      if (key.real >= -0x1p63 && key.real < 0x1p63 &&
          key.real == static_cast<double>(static_cast<int64_t>(key.real)))
        return fmt::format("i{}", static_cast<int64_t>(key.real));
      return fmt::format("r{}", key.real);
    case Kind::text:
      return "t" + key.text;
    case Kind::bytes:
      return "b" + key.text;
    case Kind::big_integer:
      return "I" + key.text;
    case Kind::global:
      return "g" + key.text;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<PickleRef>> last_of_each_key(const PickleGraph& graph,
                                                       std::span<const PickleRef> pairs) {
  std::unordered_map<std::string, size_t> places;
  std::vector<PickleRef> kept;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (const auto key = identity(graph[pairs[i]])) {
      const auto [known, is_new] = places.try_emplace(*key, kept.size());
      if (!is_new) {
        kept[known->second + 1] = pairs[i + 1];
        continue;
      }
    }
    kept.push_back(pairs[i]);
    kept.push_back(pairs[i + 1]);
  }
  if (kept.size() == pairs.size()) return std::nullopt;
  return kept;
}

std::string key_text(const PickleGraph& graph, PickleRef ref, size_t index) {
  const PickleValue& key = graph[ref];
  switch (key.kind) {
    case Kind::text:
    case Kind::bytes:
      return printable(key.text);
    case Kind::integer:
      return std::to_string(key.integer);
    case Kind::boolean:
      return key.integer != 0 ? "True" : "False";
    case Kind::none:
      return "None";
    case Kind::real:
      return fmt::format("{}", key.real);
    default:
      return fmt::format("key{}", index);  // a tuple, say: its place tells it from the others
  }
}

bool is_composite(const PickleValue& value) {
  switch (value.kind) {
    case Kind::tuple:
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::call:
    case Kind::persistent:
      return true;
    default:
      return false;
  }
}

}  // namespace assay
