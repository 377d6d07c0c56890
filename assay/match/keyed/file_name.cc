#include "assay/match/keyed/file_name.h"

#include "assay/match/frames.h"

#include <unordered_map>

namespace assay {
namespace {

struct Found {
  ItemId id;
  const Node* node;
  bool is_joined = false;
};

std::vector<Found> items_of(const std::vector<Frame>& frames) {
  std::vector<Found> out;
  for (size_t f = 0; f < frames.size(); ++f)
    for (size_t n = 0; n < frames[f].nodes.size(); ++n)
      for (size_t i = 0; i < frames[f].nodes[n].items.size(); ++i)
        out.push_back({{static_cast<int32_t>(f), static_cast<int32_t>(n), static_cast<int32_t>(i)},
                       &frames[f].nodes[n]});
  return out;
}

Result<Pairing> match_by_file_name(const Indexed& frames, const MatchOptions&) {
  std::vector<Found> mine = items_of(frames.mine), golden = items_of(frames.golden);
  std::unordered_map<std::string_view, Found*> by_name;
  for (Found& each : golden) by_name.emplace(each.node->name, &each);
  Pairing pairing;
  const auto add = [&](const Found& shown, Pair pair) {
    pairing.nodes.push_back({shown.node->name, std::ssize(pairing.nodes), {}, {pair}});
  };
  for (Found& each : mine) {
    const auto found = by_name.find(each.node->name);
    if (found == by_name.end() || found->second->is_joined) continue;
    each.is_joined = found->second->is_joined = true;
    add(each, {each.id, found->second->id, Why::same_name});
  }
  for (const Found& each : golden)
    if (!each.is_joined) add(each, {std::nullopt, each.id, Why::nothing_fits});
  for (const Found& each : mine)
    if (!each.is_joined) add(each, {each.id, std::nullopt, Why::nothing_fits});
  return pairing;
}

}  // namespace

const Matcher file_name_matcher = {"file_name", sections_by_at, match_by_file_name};

}  // namespace assay
