#include "assay/format/pt_dict.h"

#include "assay/base/text.h"
#include "assay/format/big_integer.h"

#include <fmt/ranges.h>

#include <algorithm>
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
      return "i" + big_integer_text(key.text);
    case Kind::global:
      return "g" + key.text;
    default:
      return std::nullopt;
  }
}

// A key that is made of others as its parts: "(0,q)", "torch.float32", "torch.device(cuda,1)". Two runs may
// fill a dict in another order, so a place would not tell which key it is. Nothing for what holds tensors or
// goes on for too long.
class CompositeText {
 public:
  explicit CompositeText(const PickleGraph& graph) : graph_(graph) {}

  std::optional<std::string> of(PickleRef key) {
    std::string text = part(key, kDeepest);
    if (has_more_ || text.size() > kLongest) return std::nullopt;
    return text;
  }

 private:
  static constexpr int kDeepest = 8;
  static constexpr size_t kLongest = 256, kMostParts = 64;

  std::string part(PickleRef ref, int deeper) {
    const PickleValue& value = graph_[ref];
    has_more_ |= deeper == 0 || ++parts_ > kMostParts || value.kind == Kind::persistent;
    if (has_more_) return {};
    switch (value.kind) {
      case Kind::tuple:
      case Kind::list:
        return '(' + joined(value.items, deeper) + ')';
      case Kind::set:
        return '{' + joined(value.items, deeper, true) + '}';
      case Kind::dict:
        return '{' + joined(value.items, deeper) + '}';
      case Kind::call:
        return call(value, deeper);
      case Kind::global:
        return printable(value.text);
      case Kind::big_integer:
        return big_integer_text(value.text);
      default:
        return key_text(graph_, ref, 0);
    }
  }

  std::string joined(std::span<const PickleRef> items, int deeper, bool in_any_order = false) {
    std::vector<std::string> texts;
    for (const PickleRef item : items) {
      texts.push_back(part(item, deeper - 1));
      if (has_more_) return {};
    }
    if (in_any_order) std::sort(texts.begin(), texts.end());
    return fmt::format("{}", fmt::join(texts, ","));
  }

  // What was called with what; the elements of a set have no order.
  std::string call(const PickleValue& value, int deeper) {
    const std::string name = part(value.items[0], deeper - 1);
    const PickleValue& arguments = graph_[value.items[1]];
    const bool is_set = name.ends_with("frozenset") && arguments.items.size() == 1 &&
                        graph_[arguments.items[0]].kind == Kind::list;
    std::string text = name + '(';
    text += is_set ? joined(graph_[arguments.items[0]].items, deeper - 1, true)
                   : joined(arguments.items, deeper - 1);
    for (const auto& rest : {std::span(value.items).subspan(2), std::span(&value.state, value.state != 0),
                             std::span(&value.keywords, value.keywords != 0)})
      if (!rest.empty()) text += ';' + joined(rest, deeper - 1);
    return text + ')';
  }

  const PickleGraph& graph_;
  size_t parts_ = 0;
  bool has_more_ = false;
};

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
      return composite_text(graph, ref).value_or(fmt::format("key{}", index));
  }
}

std::optional<std::string> composite_text(const PickleGraph& graph, PickleRef ref) {
  return CompositeText(graph).of(ref);
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

bool is_pickled_sequence(const PickleValue& value) {
  return value.kind == Kind::list || value.kind == Kind::tuple || value.kind == Kind::set;
}

std::vector<PickleRef> refs_of_mapping(const PickleGraph& graph, const PickleValue& call, size_t& used) {
  const std::vector<PickleRef>& arguments = graph[call.items[1]].items;
  std::vector<PickleRef> all;
  if (!arguments.empty() && graph[arguments[0]].kind == Kind::dict) {
    all = graph[arguments[0]].items;
    used = 1;
  } else if (!arguments.empty() && graph[arguments[0]].kind == Kind::list) {
    const auto is_pair = [&](PickleRef ref) {
      return is_pickled_sequence(graph[ref]) && graph[ref].items.size() == 2;
    };
    const std::vector<PickleRef>& listed = graph[arguments[0]].items;
    if (std::all_of(listed.begin(), listed.end(), is_pair)) {
      for (const PickleRef ref : listed)
        all.insert(all.end(), graph[ref].items.begin(), graph[ref].items.end());
      used = 1;
    }
  }
  if (call.added_pairs) all.insert(all.end(), call.items.begin() + 2, call.items.end());
  return all;
}

}  // namespace assay
