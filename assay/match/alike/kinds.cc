#include "assay/match/alike/kinds.h"

#include <algorithm>

namespace assay {
namespace {

using Numbers = std::vector<int64_t>;
using Place = std::pair<std::string_view, Numbers>;  // pattern and numbers of a name

std::map<Place, std::vector<Holder*>> by_place(std::vector<Holder>& holders) {
  std::map<Place, std::vector<Holder*>> found;
  for (Holder& holder : holders)
    if (!holder.is_joined) found[{holder.form.pattern, holder.form.numbers}].push_back(&holder);
  return found;
}

}  // namespace

size_t share_on(const PartGroup& group, size_t source) {
  const Holder& part = *group.parts[0];
  const size_t ranks = group.of_ranks > 0 ? group.of_ranks : part.sources();
  const size_t rank = group.of_ranks > 0 ? static_cast<size_t>(part.ranks[source]) : source;
  return rank / (ranks / group.of_shares);
}

bool is_key_or_value(const Holder& holder) {
  const std::string_view hint = hint_of(holder.form.plain);
  return hint == "key" || hint == "value" ||
         (holder.role && (holder.role->what == "k" || holder.role->what == "v"));
}

size_t shares_of_part(const PartGroup& group, const Holder& part) {
  return group.key_shares > 0 && is_key_or_value(part) ? group.key_shares : group.whole_of_ranks;
}

// As many numbers as the whole has: each follows its own. Otherwise those that are equal belong together, in
// their order, and others stay as they are: the number of an expert, the 1 of "fc1".
std::vector<Kinds::Slots> Kinds::slots_of(const PartGroup& group) {
  const Numbers& whole = group.whole->form.numbers;
  std::vector<Slots> all;
  for (const Holder* part : group.parts) {
    const Numbers& own = part->form.numbers;
    Slots& slots = all.emplace_back();
    size_t next = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own.size() == whole.size()) {
        slots.push_back({static_cast<int>(i), own[i] - whole[i]});
        continue;
      }
      const auto found = std::find(whole.begin() + static_cast<ptrdiff_t>(std::min(next, whole.size())),
                                   whole.end(), own[i]);
      if (found == whole.end()) {
        slots.push_back({-1, own[i]});
        continue;
      }
      const auto at = static_cast<size_t>(found - whole.begin());
      slots.push_back({static_cast<int>(at), 0});
      next = at + 1;
    }
  }
  return all;
}

Kinds::Key Kinds::key_of(const PartGroup& group) {
  Key key{group.parts_side, {}, group.whole->form.pattern, group.whole->form.numbers, group.joins_both};
  for (const Holder* part : group.parts) key.parts.push_back(part->form.pattern);
  for (const Slots& slots : slots_of(group))
    for (const Slot& slot : slots)
      if (slot.from >= 0) key.fixed[static_cast<size_t>(slot.from)] = kAny;
  return key;
}

std::optional<size_t> Kinds::arrangement(const PartGroup& group) const {
  const auto found = kinds_.find(key_of(group));
  return found == kinds_.end() ? std::nullopt : std::optional(found->second.arrangement);
}

void Kinds::learn(const PartGroup& group, size_t arrangement) {
  const std::vector<Slots> slots = slots_of(group);
  const auto [found, is_new] = kinds_.try_emplace(key_of(group), Kind{arrangement, slots});
  if (!is_new && (found->second.slots != slots || found->second.arrangement != arrangement))
    found->second.is_sure = false;
}

std::vector<std::pair<PartGroup, size_t>> Kinds::predict(Holders& holders) const {
  std::map<Place, std::vector<Holder*>> waiting[2] = {by_place(holders.of[0]), by_place(holders.of[1])};
  std::vector<std::pair<PartGroup, size_t>> predicted;
  for (const auto& [key, kind] : kinds_) {
    if (!kind.is_sure) continue;
    auto& parts = waiting[static_cast<size_t>(key.parts_side)];
    auto& wholes = waiting[static_cast<size_t>(other_side(key.parts_side))];
    const auto fits = [](const Numbers& fixed, const Numbers& numbers) {
      for (size_t i = 0; i < fixed.size(); ++i)
        if (fixed[i] != kAny && fixed[i] != numbers[i]) return false;
      return true;
    };
    for (auto at = wholes.lower_bound({key.whole, {}}); at != wholes.end() && at->first.first == key.whole;
         ++at) {
      if (at->second.size() != 1 || at->second[0]->is_joined || !fits(key.fixed, at->first.second)) continue;
      PartGroup group{key.parts_side, {}, at->second[0]};
      group.joins_both = key.joins_both;
      for (size_t p = 0; p < key.parts.size(); ++p) {
        Numbers numbers;
        for (const Slot& slot : kind.slots[p])
          numbers.push_back(slot.add +
                            (slot.from < 0 ? 0 : at->first.second[static_cast<size_t>(slot.from)]));
        const auto found = parts.find({key.parts[p], numbers});
        if (found == parts.end() || found->second.size() != 1 || found->second[0]->is_joined) break;
        group.parts.push_back(found->second[0]);
      }
      if (group.parts.size() == key.parts.size()) predicted.emplace_back(std::move(group), kind.arrangement);
    }
  }
  return predicted;
}

}  // namespace assay
