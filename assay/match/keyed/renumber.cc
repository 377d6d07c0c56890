#include "assay/match/keyed/renumber.h"

#include "assay/match/keyed/entry_name.h"

#include <unordered_map>

namespace assay {
namespace {

// By what stands before the call number in the name that the entry has itself: two modules that a mapping
// gives one name are not one module.
using Calls = std::unordered_map<std::string_view, int64_t>;

void renumber_node(const Node& node, std::span<std::string_view> keys, Calls& calls, std::string& text,
                   StringPool& pool) {
  const auto call = find_call(node.name);
  if (!call || !call->is_backward) return;
  const size_t tail = node.name.size() - call->begin;
  const bool number_first = node.name[call->begin + 1] != 'b';
  // An entry without rows is a call all the same.
  const std::string number = std::to_string(calls[node.name.substr(0, call->begin)]++);
  for (std::string_view& key : keys) {
    const auto [entry, rest] = split_key(key, node.name);
    if (entry.empty()) continue;
    const std::string_view stem = entry.substr(0, entry.size() - tail);
    text.assign(stem).append(number_first ? "." + number + ".backward" : ".backward." + number).append(rest);
    key = pool.keep(text);
  }
}

void renumber_side(const PairingBuilder& builder, Side side, std::vector<std::string_view>& keys,
                   StringPool& pool) {
  Calls calls;
  std::string text;
  size_t begin = 0;
  for (const Frame& frame : builder.frames(side))
    for (const Node& node : frame.nodes) {
      const size_t end = begin + node.items.size();
      renumber_node(node, std::span(keys).subspan(begin, node.items.size()), calls, text, pool);
      begin = end;
    }
}

}  // namespace

void renumber_backward(const PairingBuilder& builder, Keys& keys,
                       std::vector<std::string_view>& golden_keys) {
  // A key that a mapping gives is the name of an item of golden, and follows that item.
  std::vector<size_t> given;
  for (size_t m = 0; m < keys.key.size(); ++m)
    if (!keys.key[m].empty() && (keys.why[m] == Why::data_mapping || keys.why[m] == Why::layer_mapping))
      given.push_back(m);
  std::vector<std::string_view> given_keys;
  for (const size_t m : given) given_keys.push_back(keys.key[m]);

  renumber_side(builder, Side::mine, keys.key, keys.pool);
  renumber_side(builder, Side::golden, golden_keys, keys.pool);

  if (given.empty()) return;
  std::unordered_map<std::string_view, std::string_view> renumbered;
  for (size_t g = 0; g < golden_keys.size(); ++g)
    renumbered.try_emplace(builder.name(Side::golden, g), golden_keys[g]);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto found = renumbered.find(given_keys[i]);
    if (found == renumbered.end())
      keys.leave_out(given[i], Why::nothing_fits);  // as it stands it could be the new key of another item
    else
      keys.key[given[i]] = found->second;
  }
}

}  // namespace assay
