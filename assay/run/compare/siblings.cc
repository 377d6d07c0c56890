#include "assay/run/compare/siblings.h"

#include "assay/match/alike/layer_layouts.h"
#include "assay/match/alike/name_form.h"

#include <algorithm>

namespace assay {

std::string Siblings::role_of(const Pair& pair) const {
  return fmt::format("{}|{}", layer_pattern(form_of(matched_.item(Side::mine, *pair.mine).name).plain),
                     layer_pattern(form_of(matched_.item(Side::golden, *pair.golden).name).plain));
}

std::optional<Siblings::LaidOut> Siblings::lay_out(const Pair& pair) {
  const auto mine = loader_.load(Side::mine, *pair.mine), golden = loader_.load(Side::golden, *pair.golden);
  if (!mine || !golden) return std::nullopt;  // their own row says why
  const Shape &a = mine->data->meta.shape, &b = golden->data->meta.shape;
  LaidOut laid_out{&pair, a.count(), b.count(), false, {}};
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
        const bool stands = pair.mine && pair.golden && pair.plan(Side::mine) == nullptr &&
                            pair.plan(Side::golden) == nullptr;
        if (stands && matched_.item(Side::mine, *pair.mine).data &&
            matched_.item(Side::golden, *pair.golden).data)
          pairs_[role_of(pair)].push_back(&pair);
      }
  const auto [found, is_new] = families_.try_emplace(role);
  if (is_new)
    for (const Pair* const pair : pairs_[role])
      if (auto laid_out = lay_out(*pair)) found->second.push_back(std::move(*laid_out));
  return found->second;
}

std::string Siblings::objection_to(const Pair& pair, const Rearranged& how, const TensorMeta& mine,
                                   const TensorMeta& golden) {
  const std::lock_guard lock(guard_);
  const std::vector<Arrangement> own = {how.arrangement};
  std::vector<const std::vector<Arrangement>*> layouts = {&own};
  for (const LaidOut& other : family_of(role_of(pair))) {
    const bool is_itself = other.pair->mine == pair.mine && other.pair->golden == pair.golden;
    const bool is_alike =
        other.mine_count == mine.shape.count() && other.golden_count == golden.shape.count();
    // One number throughout lies as any that does not stand as it is.
    const bool tells = other.layout[0].text.empty() || !(how.is_constant || other.is_constant);
    if (!is_itself && is_alike && tells) layouts.push_back(&other.layout);
  }
  const LayoutVote vote = hold_against_each_other(layouts).front();
  return vote.otherwise > 0 ? vote.objection() : std::string();
}

std::string Siblings::other_types(Side side, const ItemId& item, DType own) {
  const auto key_of = [](const NameForm& form) { return fmt::format("{}|{}", form.plain, form.stage); };
  const NameForm form = form_of(matched_.item(side, item).name);
  if (form.rank < 0) return {};
  const std::lock_guard lock(guard_);
  auto& ranks = ranks_[static_cast<size_t>(side)];
  if (!std::exchange(has_ranks_[static_cast<size_t>(side)], true))
    for (const PairedNode& node : matched_.pairing.nodes)
      for (const Pair& pair : node.pairs)
        if (const auto& each = side == Side::mine ? pair.mine : pair.golden;
            each && matched_.item(side, *each).data)
          if (const NameForm other = form_of(matched_.item(side, *each).name); other.rank >= 0)
            ranks[key_of(other)].push_back({*each, other.rank});
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
