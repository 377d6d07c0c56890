#include "assay/match/keyed/layer.h"

#include "assay/base/text.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/keyed.h"
#include "assay/match/keyed/layer_scope.h"
#include "assay/match/keyed/unused_names.h"
#include "assay/support/log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

namespace assay {
namespace {

// The layers of one side as a tree, with the entries that belong to each.
class LayerTree {
 public:
  LayerTree(const LayerScopes& scopes, Interner& tokens) : types_{tokens.number("TopLayer")} {
    positions_.reserve(scopes.entries().size());
    for (const LayerEntry& entry : scopes.entries()) {
      positions_.push_back(0);
      if (!entry.has_scope) continue;
      uint32_t at = 0;
      for (const uint32_t token : scopes.scope(entry).subspan(1)) {
        at = trie_.add(at, token);
        if (at == types_.size()) types_.push_back(token);
      }
      if (at != 0) types_[at] = entry.type;  // the root stays the TopLayer, whatever the model's class
      std::vector<const LayerEntry*>& list = lists_[{at, entry.state}];
      positions_.back() = list.size();
      list.push_back(&entry);
    }
  }

  uint32_t child(uint32_t at, uint32_t token) const {
    return at == TokenTrie::kNone ? at : trie_.find(at, token);
  }
  uint32_t type(uint32_t at) const { return types_[at]; }
  size_t position(size_t entry) const { return positions_[entry]; }  // among those of its layer and state
  const LayerEntry* find(uint32_t at, uint32_t state, size_t position) const {
    const auto found = at == TokenTrie::kNone ? lists_.end() : lists_.find({at, state});
    return found == lists_.end() || position >= found->second.size() ? nullptr : found->second[position];
  }

 private:
  struct LayerState {
    uint32_t layer, state;
    bool operator==(const LayerState&) const = default;
  };
  struct Hash {
    size_t operator()(const LayerState& place) const {
      return std::hash<uint64_t>()(uint64_t{place.layer} << 32 | place.state);
    }
  };
  TokenTrie trie_;
  std::vector<uint32_t> types_;  // by node of the trie
  std::unordered_map<LayerState, std::vector<const LayerEntry*>, Hash> lists_;
  std::vector<size_t> positions_;
};

// The renames of the user's file, as tokens.
class Renames {
 public:
  struct Rename {
    std::vector<uint32_t> path, target;
    std::string name;  // for messages: "ParallelAttention: qkv_proj"
    bool is_used = false;
  };

  Renames(const LayerMapping& layers, Interner& tokens) {
    const auto number_all = [&](const auto& words) {
      std::vector<uint32_t> numbers;
      for (const auto& word : words) numbers.push_back(tokens.number(word));
      return numbers;
    };
    for (const auto& [type, renames] : layers) {
      const uint32_t type_token = tokens.number(type);
      for (const LayerRename& rename : renames) {
        Rename& added =
            renames_.emplace_back(Rename{number_all(rename.path), number_all(split(rename.target, '.')),
                                         fmt::format("{}: {}", type, fmt::join(rename.path, "."))});
        by_start_[start(type_token, added.path[0])].push_back(&added);
      }
    }
    for (auto& [key, list] : by_start_)
      std::stable_sort(list.begin(), list.end(),
                       [](const Rename* a, const Rename* b) { return a->path.size() > b->path.size(); });
  }

  // The longest path that `scope` goes on with, below a layer of this type; null: none.
  const Rename* find(uint32_t type, std::span<const uint32_t> scope) {
    const auto found = by_start_.find(start(type, scope[0]));
    if (found == by_start_.end()) return nullptr;
    for (Rename* const rename : found->second)
      if (rename->path.size() <= scope.size() &&
          std::equal(rename->path.begin(), rename->path.end(), scope.begin())) {
        rename->is_used = true;
        return rename;
      }
    return nullptr;
  }

  void warn_of_unused() const {
    UnusedNames unused("layer");
    for (const Rename& rename : renames_) unused.add(Side::mine, rename.name, rename.is_used);
    unused.warn();
  }

 private:
  static uint64_t start(uint32_t type, uint32_t token) { return uint64_t{type} << 32 | token; }
  std::deque<Rename> renames_;
  std::unordered_map<uint64_t, std::vector<Rename*>> by_start_;
};

// Walks down both trees at once: a layer of mine, and what it is called in golden. To the end of the scope
// also where golden is lost, so that what stands there counts as used.
uint32_t find_golden_layer(std::span<const uint32_t> scope, const LayerTree& mine, const LayerTree& golden,
                           Renames& renames) {
  uint32_t here = 0, there = 0;
  for (size_t i = 1; i < scope.size();) {
    const Renames::Rename* const rename = renames.find(mine.type(here), scope.subspan(i));
    const auto path = rename ? std::span(rename->path) : scope.subspan(i, 1);
    const auto target = rename ? std::span(rename->target) : scope.subspan(i, 1);
    for (const uint32_t token : path) here = mine.child(here, token);
    for (const uint32_t token : target) there = golden.child(there, token);
    i += path.size();
  }
  return there;
}

// By entry of mine: the entry of golden, or null.
std::vector<const LayerEntry*> pair_entries(const LayerScopes& mine, const LayerScopes& golden,
                                            const LayerMapping& layers, Interner& tokens) {
  const LayerTree mine_tree(mine, tokens), golden_tree(golden, tokens);
  Renames renames(layers, tokens);
  std::vector<const LayerEntry*> partners(mine.entries().size(), nullptr);
  for (size_t e = 0; e < partners.size(); ++e) {
    const LayerEntry& entry = mine.entries()[e];
    if (!entry.has_scope) continue;
    const uint32_t layer = find_golden_layer(mine.scope(entry), mine_tree, golden_tree, renames);
    partners[e] = golden_tree.find(layer, entry.state, mine_tree.position(e));
  }
  renames.warn_of_unused();
  return partners;
}

bool has_layers(const LayerScopes& scopes) { return scopes.has_parents() || scopes.has_modules(); }

Result<Pairing> match_by_layer(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  Keys keys(builder);
  Interner tokens;
  const LayerScopes mine(frames.mine, tokens), golden(frames.golden, tokens);
  if (!has_layers(mine) || !has_layers(golden)) {
    const bool neither = !has_layers(mine) && !has_layers(golden);
    log::warn(
        "the layers of {} are not known: no module is among the entries, and construct.json is missing or "
        "empty, as in dumps of level L1. Names are matched as they are; dump with level L0 or mix to match "
        "by layers",
        neither             ? "both sides"
        : !has_layers(mine) ? "mine"
                            : "golden");
    return match_keys(frames, builder, keys, options, false);
  }
  const bool apis_have_layers = mine.has_parents() && golden.has_parents();
  if (!apis_have_layers)
    log::warn(
        "construct.json of {} is missing or empty: modules are matched by layers, everything else by name",
        mine.has_parents()     ? "golden"
        : golden.has_parents() ? "mine"
                               : "both sides");

  const std::vector<const LayerEntry*> partners =
      pair_entries(mine, golden, options.mappings->layers, tokens);
  size_t begin = 0;
  std::string key;
  for (size_t e = 0; e < partners.size(); ++e) {
    const LayerEntry& entry = mine.entries()[e];
    const std::string_view own = entry.node->name;
    const size_t end = begin + entry.node->items.size();
    const bool by_layer = entry.has_scope && (entry.is_module || apis_have_layers);
    for (size_t m = begin; m < end && by_layer; ++m) {
      const std::string_view name = builder.name(Side::mine, m);
      if (partners[e] == nullptr || !name.starts_with(own))
        keys.leave_out(m, Why::nothing_fits);
      else
        keys.set(m, key.assign(partners[e]->node->name).append(name.substr(own.size())), Why::layer_mapping);
    }
    begin = end;
  }
  return match_keys(frames, builder, keys, options, true);
}

}  // namespace

const Matcher layer_matcher = {"layer", sections_by_at, match_by_layer, {.structure = true}};

}  // namespace assay
