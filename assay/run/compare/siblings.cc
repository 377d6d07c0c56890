#include "assay/run/compare/siblings.h"

#include "assay/match/alike/layer_layouts.h"
#include "assay/match/alike/name_form.h"

#include <algorithm>
#include <deque>

namespace assay {

Siblings::PairId Siblings::id_of(const Pair& pair) {
  return {pair.mine->frame,   pair.mine->node,   pair.mine->item,
          pair.golden->frame, pair.golden->node, pair.golden->item};
}

std::string Siblings::role_of(const Pair& pair) const {
  return fmt::format("{}|{}", layer_pattern(form_of(matched_.item(Side::mine, *pair.mine).name).plain),
                     layer_pattern(form_of(matched_.item(Side::golden, *pair.golden).name).plain));
}

std::optional<Siblings::LaidOut> Siblings::lay_out(const Pair& pair) {
  const auto mine = loader_.load(Side::mine, *pair.mine), golden = loader_.load(Side::golden, *pair.golden);
  if (!mine || !golden) return std::nullopt;  // their own row says why
  const Shape &a = mine->data->meta.shape, &b = golden->data->meta.shape;
  LaidOut laid_out{&pair, a, b, false, {}};
  if (same_but_for_ones(a, b)) {
    laid_out.layout.emplace_back();
    return laid_out;
  }
  auto how = find_arrangement(mine->data, golden->data);
  if (!how) return std::nullopt;
  laid_out.is_constant = how->is_constant;
  laid_out.layout.push_back(std::move(how->arrangement));
  return laid_out;
}

const Siblings::Family& Siblings::family_of(const std::string& role) {
  if (!std::exchange(is_indexed_, true))
    for (const PairedNode& node : matched_.pairing.nodes)
      for (const Pair& pair : node.pairs) {
        const bool stands = pair.mine && pair.golden && pair.ranks() == nullptr &&
                            pair.plan(Side::mine) == nullptr && pair.plan(Side::golden) == nullptr;
        if (stands && matched_.item(Side::mine, *pair.mine).data &&
            matched_.item(Side::golden, *pair.golden).data)
          pairs_[role_of(pair)].push_back(&pair);
      }
  const auto [found, is_new] = families_.try_emplace(role);
  if (!is_new) return found->second;
  std::deque<LaidOut> members;
  // By elements without what one side was padded with.
  std::map<int64_t, std::vector<const LaidOut*>> by_count;
  for (const Pair* const pair : pairs_[role])
    if (auto laid_out = lay_out(*pair)) {
      const LaidOut& kept = members.emplace_back(std::move(*laid_out));
      by_count[std::min(kept.mine.count(), kept.golden.count())].push_back(&kept);
    }
  for (const auto& [count, alike] : by_count) hold_against_each_other(alike, found->second);
  return found->second;
}

void Siblings::hold_against_each_other(const std::vector<const LaidOut*>& alike, Family& family) {
  // One number throughout lies as any that does not stand as it is.
  std::vector<const LaidOut*> telling;
  std::vector<LaidOutParts> layouts;
  size_t standing = 0;
  for (const LaidOut* const each : alike) {
    if (each->is_constant) continue;
    telling.push_back(each);
    layouts.push_back({&each->layout, {each->mine}, each->golden});
    standing += each->layout[0].text.empty();
  }
  const std::vector<LayoutVote> votes = assay::hold_against_each_other(layouts);
  for (size_t i = 0; i < telling.size(); ++i)
    if (votes[i].otherwise > 0 && !telling[i]->layout[0].text.empty())
      family[id_of(*telling[i]->pair)] = votes[i].objection();
  for (const LaidOut* const each : alike)
    if (each->is_constant && standing > 0)
      family[id_of(*each->pair)] = LayoutVote{standing, alike.size() - 1}.objection();
}

std::string Siblings::objection_to(const Pair& pair) {
  const std::lock_guard lock(guard_);
  const Family& family = family_of(role_of(pair));
  const auto found = family.find(id_of(pair));
  return found == family.end() ? std::string() : found->second;
}

std::string Siblings::other_types(Side side, const ItemId& item, DType own) {
  const auto key_of = [](const NameForm& form) { return fmt::format("{}|{}", form.plain, form.stage); };
  const NameForm form = form_of(matched_.item(side, item).name);
  if (form.rank < 0) return {};
  const std::lock_guard lock(guard_);
  auto& ranks = ranks_[static_cast<size_t>(side)];
  if (!std::exchange(has_ranks_[static_cast<size_t>(side)], true)) {
    const auto add = [&](const ItemId& each) {
      if (!matched_.item(side, each).data) return;
      if (const NameForm other = form_of(matched_.item(side, each).name); other.rank >= 0)
        ranks[key_of(other)].push_back({each, other.rank});
    };
    for (const PairedNode& node : matched_.pairing.nodes)
      for (const Pair& pair : node.pairs)
        if (const RankShares* const together = pair.ranks(); together != nullptr && together->side == side)
          std::ranges::for_each(together->items, add);
        else if (const auto& each = side == Side::mine ? pair.mine : pair.golden)
          add(*each);
  }
  for (OnRank& other : ranks[key_of(form)]) {
    if (!std::exchange(other.was_read, true)) {
      if (const TensorMeta* const known = matched_.item(side, other.item).meta)
        other.dtype = known->dtype;
      else if (const auto loaded = loader_.load(side, other.item))
        other.dtype = loaded->data->meta.dtype;
    }
    if (other.dtype && *other.dtype != own && other.rank != form.rank)
      return fmt::format("{} on rank {} of {}, and {} on rank {}", name(own), form.rank, name_of(side),
                         name(*other.dtype), other.rank);
  }
  return {};
}

}  // namespace assay
