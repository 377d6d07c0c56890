#include "assay/match/keyed/api.h"

#include "assay/base/text.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/entry_name.h"
#include "assay/match/keyed/keyed.h"
#include "assay/match/keyed/unused_names.h"
#include "assay/support/log.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

constexpr size_t kKinds = 4;  // the lists of an ApiMapping, in its order
constexpr std::array<std::string_view, kKinds> kKindNames = {"args", "outputs", "parameters",
                                                             "parameters_grad"};

// Where an item stands among those of its entry: the 2 of ".input.2", the weight of ".parameters.weight".
struct ArgumentPlace {
  size_t kind = kKinds;  // kKinds: none that a list speaks of
  std::string_view text;
};

ArgumentPlace place_of(std::string_view name, std::string_view entry) {
  struct Prefix {
    std::string_view text;
    size_t kind;
  };
  constexpr std::array<Prefix, 4> kPrefixes = {
      {{".input.", 0}, {".kwargs.", 0}, {".output.", 1}, {".parameters.", 2}}};
  const std::string_view rest = split_key(name, entry).rest;
  for (const Prefix& prefix : kPrefixes)
    if (rest.starts_with(prefix.text)) return {prefix.kind, rest.substr(prefix.text.size())};
  const bool is_gradient = entry.find(".parameters_grad") != std::string_view::npos;
  return is_gradient && rest.starts_with('.') ? ArgumentPlace{3, rest.substr(1)} : ArgumentPlace{};
}

// An entry of the user's file whose APIs both sides have.
struct ApiInUse {
  const ApiMapping* mapping = nullptr;
  std::array<const ApiMapping::Indices*, kKinds> lists = {};  // null: everything maps to itself
  std::array<std::unordered_map<std::string_view, std::string_view>, kKinds> golden_place;
  std::array<std::unordered_set<std::string_view>, kKinds> seen[2];  // places by side, to check the lists
};

class UserApis {
 public:
  UserApis(const PairingBuilder& builder, const std::vector<ApiMapping>& apis) {
    if (apis.empty()) return;
    std::unordered_set<std::string_view> present[2];
    for (const Side side : {Side::mine, Side::golden})
      for (size_t i = 0; i < builder.size(side); ++i)
        present[static_cast<size_t>(side)].insert(first_words(builder.name(side, i), 2));
    UnusedNames unused("api");
    for (const ApiMapping& api : apis) {
      const bool mine_has_it = present[0].count(api.mine) > 0,
                 golden_has_it = present[1].count(api.golden) > 0;
      unused.add(Side::mine, api.mine, mine_has_it);
      unused.add(Side::golden, api.golden, golden_has_it);
      if (mine_has_it && golden_has_it)
        in_use_[api.mine] = use(api);  // of two that both apply, the later one
    }
    unused.warn();
  }

  const ApiInUse* find(std::string_view api) const {
    const auto found = in_use_.find(api);
    return found == in_use_.end() ? nullptr : &found->second;
  }

  // Refuses numbers that no item has: a mapping that silently maps nothing is a mistake of its writer. Where
  // they may miss, warns of them.
  Result<void> check(const PairingBuilder& builder, bool may_miss) {
    if (in_use_.empty()) return {};
    std::unordered_map<std::string_view, std::vector<ApiInUse*>> by_golden;
    for (auto& [mine, api] : in_use_) by_golden[api.mapping->golden].push_back(&api);
    const auto note = [&](ApiInUse& api, Side side, size_t i) {
      const ArgumentPlace place = place_of(builder.name(side, i), builder.node(side, i).name);
      if (place.kind < kKinds) api.seen[static_cast<size_t>(side)][place.kind].insert(place.text);
    };
    for (size_t m = 0; m < builder.size(Side::mine); ++m) {
      const auto found = in_use_.find(first_words(builder.name(Side::mine, m), 2));
      if (found != in_use_.end()) note(found->second, Side::mine, m);
    }
    for (size_t g = 0; g < builder.size(Side::golden); ++g) {
      const auto found = by_golden.find(first_words(builder.name(Side::golden, g), 2));
      if (found == by_golden.end()) continue;
      for (ApiInUse* const api : found->second) note(*api, Side::golden, g);
    }
    // In the order of the file, so that the first mistake is the one that is told.
    std::vector<const ApiInUse*> ordered;
    for (const auto& [mine, api] : in_use_) ordered.push_back(&api);
    std::sort(ordered.begin(), ordered.end(),
              [](const ApiInUse* a, const ApiInUse* b) { return a->mapping < b->mapping; });
    for (const ApiInUse* const api : ordered) {
      auto fits = check_lists(*api);
      if (!fits && !may_miss) return fits;
      if (!fits) log::warn("{}; it is passed over", fits.error().message);
    }
    return {};
  }

 private:
  static ApiInUse use(const ApiMapping& api) {
    ApiInUse used;
    used.mapping = &api;
    const std::array<const std::optional<ApiMapping::Indices>*, kKinds> lists = {
        &api.inputs, &api.outputs, &api.parameters, &api.parameter_gradients};
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (!*lists[kind]) continue;
      used.lists[kind] = &**lists[kind];
      for (size_t i = 0; i < used.lists[kind]->mine.size(); ++i)
        used.golden_place[kind].emplace(used.lists[kind]->mine[i], used.lists[kind]->golden[i]);
    }
    return used;
  }

  static Result<void> check_lists(const ApiInUse& api) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (api.lists[kind] == nullptr) continue;
      for (const Side side : {Side::mine, Side::golden}) {
        const bool is_mine = side == Side::mine;
        const auto& seen = api.seen[static_cast<size_t>(side)][kind];
        for (const std::string& wanted : is_mine ? api.lists[kind]->mine : api.lists[kind]->golden)
          if (seen.count(wanted) == 0)
            return fail(ErrorKind::mismatch, "{}:{}: {}_{}: {} is out of range; {} of {} has {}",
                        api.mapping->file, api.mapping->line, is_mine ? "ms" : "pt", kKindNames[kind],
                        printable(wanted), printable(is_mine ? api.mapping->mine : api.mapping->golden),
                        is_mine ? "mine" : "golden", some_of(seen));
      }
    }
    return {};
  }

  static std::string some_of(const std::unordered_set<std::string_view>& seen) {
    if (seen.empty()) return "none";
    std::vector<std::string_view> sorted(seen.begin(), seen.end());
    std::sort(sorted.begin(), sorted.end(), natural_less);
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < std::min(sorted.size(), kMost); ++i)
      text += (i == 0 ? "" : ", ") + printable(sorted[i]);
    return sorted.size() > kMost ? text + ", …" : text;
  }

  std::unordered_map<std::string_view, ApiInUse> in_use_;  // by API of mine
};

// The API of golden that the built-in rules name; empty: the same.
std::string_view built_in(std::string_view api, std::string& buffer) {
  constexpr std::string_view kMint = "Mint.", kMintFunctional = "MintFunctional.";
  if (api.starts_with(kMint)) return buffer.assign("Torch.").append(api.substr(kMint.size()));
  if (api.starts_with(kMintFunctional))
    return buffer.assign("Functional.").append(api.substr(kMintFunctional.size()));
  return find_pytorch_api(api);
}

Result<Pairing> match_by_api(const Indexed& frames, const MatchOptions& options) {
  const Mappings& mappings = *options.mappings;
  PairingBuilder builder(frames);
  Keys keys(builder);
  UserApis user(builder, mappings.apis);
  ASSAY_TRY_DO(user.check(builder, mappings.apis_may_miss));
  const bool use_table = mappings.use_api_table || mappings.apis.empty();
  std::string key, buffer;
  for (size_t m = 0; m < builder.size(Side::mine); ++m) {
    const std::string_view name = builder.name(Side::mine, m);
    const std::string_view api = first_words(name, 2);
    const std::string_view rest = name.substr(api.size());
    if (const ApiInUse* const given = user.find(api)) {
      key.assign(given->mapping->golden).append(rest);
      const ArgumentPlace place = place_of(name, builder.node(Side::mine, m).name);
      if (place.kind < kKinds && given->lists[place.kind] != nullptr) {
        const auto found = given->golden_place[place.kind].find(place.text);
        if (found == given->golden_place[place.kind].end()) {
          keys.leave_out(m);
          continue;
        }
        key.resize(key.size() - place.text.size());
        key.append(found->second);
      }
      keys.set(m, key, Why::api_mapping);
    } else if (use_table) {
      const std::string_view twin = built_in(api, buffer);
      if (twin.empty() || twin == api) continue;
      keys.set(m, key.assign(twin).append(rest), Why::api_table);
    }
  }
  return match_keys(frames, builder, keys, options, has_data_mapping(mappings));
}

}  // namespace

const Matcher api_matcher = {"api", sections_by_at, match_by_api};

}  // namespace assay
