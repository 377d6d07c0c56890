#include "assay/match/alike/rank_world.h"

#include "assay/match/alike/layer_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

bool are_keys_or_values(const PartGroup& group) {
  return std::ranges::all_of(group.parts, [](const Holder* part) { return is_key_or_value(*part); });
}

Side side_of_ranks(const PartGroup& group) {
  return group.whole_of_ranks > 0 ? other_side(group.parts_side) : group.parts_side;
}

}  // namespace

bool settle_copied_keys(PartGroup& group, size_t ranks) {
  const auto all = static_cast<int64_t>(ranks);
  int64_t keys = 0, others = 0;
  for (const Holder* part : group.parts) (is_key_or_value(*part) ? keys : others) += part->shape.count();
  const int64_t of_keys = group.whole->shape.count() - others / all;
  const bool may_be = ranks > 1 && keys > 0 && others > 0 && others % all == 0 && of_keys > 0 &&
                      keys % of_keys == 0 && group.whole->ranks[0] >= 0 && group.whole->ranks[0] < all;
  const int64_t shares = may_be ? keys / of_keys : 0;
  if (shares == 0 || shares >= all || all % shares != 0) return false;
  group.whole_of_ranks = ranks;
  group.key_shares = static_cast<size_t>(shares);
  return true;
}

void RankWorld::count(Side side, const NameForm& form, size_t Family::*what) {
  ++(families_[index(side)][layer_pattern(form.plain)].*what);
  if (is_norm_of_states(form.plain)) ++(norms_[index(side)].*what);
}

void RankWorld::count_whole(Side side, const NameForm& form, const Shape& shape) {
  count(side, form, &Family::whole);
  whole_matrices_[index(side)] += std::ranges::count_if(shape.dims, [](int64_t d) { return d > 1; }) > 1;
}

void RankWorld::add(const PartGroup& group) {
  const Side side = side_of_ranks(group);
  const size_t shares = std::max(group.of_shares, group.whole_of_ranks);
  Votes& votes = votes_[index(side)][shares > 0 ? shares : group.parts[0]->shares()];
  ++votes.all;
  votes.but_keys += !are_keys_or_values(group);
  if (group.whole_of_ranks == 0 && group.parts.size() == 1)
    count(side, group.parts[0]->form, &Family::shared);
}

// Where as many tensors speak for two numbers, the smaller one: the others are cut short.
size_t RankWorld::ranks_on(Side side) const {
  size_t ranks = 0, most = 0;
  const auto& votes = votes_[index(side)];
  const bool has_others =
      std::ranges::any_of(votes, [](const auto& each) { return each.second.but_keys > 0; });
  for (const auto& [number, each] : votes)
    if (const size_t count = has_others ? each.but_keys : each.all; count > most) {
      most = count;
      ranks = number;
    }
  return ranks;
}

std::string RankWorld::settle(PartGroup& group) {
  const size_t ranks = ranks_on(side_of_ranks(group));
  const size_t shares = std::max(group.of_shares, group.whole_of_ranks);
  const auto is_there = [&](int64_t rank) { return rank >= 0 && static_cast<size_t>(rank) < ranks; };
  const std::vector<int64_t>& numbers = group.whole_of_ranks > 0 ? group.whole->ranks : group.parts[0]->ranks;
  const bool is_one_each = shares == ranks;
  const bool are_copied =
      group.of_shares > 0 && shares < ranks && ranks % shares == 0 && are_keys_or_values(group);
  if ((is_one_each || are_copied) && std::ranges::all_of(numbers, is_there)) {
    if (group.of_shares > 0) group.of_ranks = ranks;
    return {};
  }
  if (group.whole_of_ranks > 0 && settle_copied_keys(group, ranks)) return {};
  return is_one_each
             ? fmt::format("rank {} of {} is none", numbers.back(), ranks)
             : fmt::format("1 of {} of it, where other tensors are shares of {} ranks", shares, ranks);
}

void RankWorld::settle_copies(PartGroup& group) const {
  const Holder& part = *group.parts[0];
  const size_t ranks = ranks_on(group.parts_side);
  const int64_t share = part.shape.count(), whole = group.whole->shape.count();
  const bool may_be_copied = group.parts.size() == 1 && group.of_shares == 0 && part.sources() > 1 &&
                             part.sources() < ranks && group.whole->sources() == 1 && share < whole &&
                             whole % share == 0 && are_keys_or_values(group);
  if (!may_be_copied || part.ranks.front() < 0 || static_cast<size_t>(part.ranks.back()) >= ranks) return;
  const auto shares = static_cast<size_t>(whole / share);
  if (shares >= ranks || ranks % shares != 0) return;
  group.of_shares = shares;
  group.of_ranks = ranks;
}

// What is joined already counts, too: what has as many elements on both sides.
void RankWorld::look_at_names(Side side) {
  if (std::exchange(has_looked_[index(side)], true)) return;
  std::vector<NameForm> forms;
  std::vector<size_t> positions;
  const std::string_view path = path_of_one_rank(builder_, side);
  FormReader reader(path);
  for (size_t i = 0; i < builder_.size(side); ++i) {
    NameForm form = reader.form_of(builder_.name(side, i));
    if (form.rank < 0) continue;
    forms.push_back(std::move(form));
    positions.push_back(i);
  }
  number_through(forms);
  const Side other = other_side(side);
  std::unordered_map<std::string, size_t> by_name;
  FormReader others;
  for (size_t i = 0; i < builder_.size(other); ++i)
    if (builder_.item(other, i).data) by_name.try_emplace(others.form_of(builder_.name(other, i)).plain, i);
  std::set<std::string_view> seen;
  for (size_t i = 0; i < forms.size(); ++i) {
    ranks_there_[index(side)][forms[i].stage].insert(forms[i].rank);
    const auto found = by_name.find(forms[i].plain);
    if (!seen.insert(forms[i].plain).second || found == by_name.end() ||
        !builder_.item(side, positions[i]).data)
      continue;
    const auto own = contents_.meta({side, builder_.items(side)[positions[i]]}),
               whole = contents_.meta({other, builder_.items(other)[found->second]});
    if (own && whole && own->shape.count() == whole->shape.count() && builder_.is_joined(side, positions[i]))
      count_whole(side, forms[i], own->shape);
  }
}

Doubts RankWorld::doubts_of(const PartGroup& group) {
  Doubts doubts;
  const Side side = side_of_ranks(group);
  look_at_names(side);
  const Holder& part = group.whole_of_ranks > 0 ? *group.whole : *group.parts[0];
  for (const int64_t rank : ranks_there_[index(side)][part.form.stage])
    if (doubts.lacks.empty() && std::ranges::find(part.ranks, rank) == part.ranks.end() &&
        std::ranges::find(part.other_ranks, rank) == part.other_ranks.end())
      doubts.lacks = fmt::format("rank {} of {} is there, and lacks its share", rank, name_of(side));
  if (group.parts.size() > 1 || group.whole_of_ranks > 0) return doubts;
  // Where no other layer has one of its name, norms are shared out alike, or none of them is.
  Family family = families_[index(side)][layer_pattern(part.form.plain)];
  if (family.shared + family.whole < 2 && is_norm_of_states(part.form.plain)) family = norms_[index(side)];
  const size_t matrices = whole_matrices_[index(side)];
  if (family.whole >= family.shared)
    doubts.contradiction = fmt::format("a share of {}, though {} of {} others of its role are whole",
                                       group.of_shares, family.whole, family.whole + family.shared - 1);
  else if (votes_[index(side)][group.of_shares].all == 1 && matrices > 1)
    doubts.contradiction =
        fmt::format("the only share of {}, though {} other matrices are whole", group.of_shares, matrices);
  return doubts;
}

}  // namespace assay
