#include "assay/match/alike/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

// By how many elements they have: whether ranks hold shares of a tensor or copies. False where neither fits.
bool settle_ranks(PartGroup& group) {
  const size_t of_parts = group.parts[0]->sources(), of_whole = group.whole->sources();
  int64_t together = 0;
  for (const Holder* part : group.parts) {
    if (part->sources() != of_parts) return false;
    together += part->shape.count();
  }
  const int64_t whole = group.whole->shape.count();
  const bool are_copies = together == whole && of_parts != of_whole;
  for (Holder* part : group.parts) part->is_copied = are_copies && of_parts > 1;
  group.whole->is_copied = are_copies && of_whole > 1;
  const int64_t all = together * static_cast<int64_t>(of_parts);
  if (of_whole == 1 && group.whole->ranks[0] < 0 && all < whole && whole % together == 0) {
    // Some ranks of several, which say which they are.
    const int64_t of_ranks = whole / together;
    const auto is_one_of_them = [&](const Holder* part) {
      return part->ranks == group.parts[0]->ranks && part->ranks.front() >= 0 &&
             part->ranks.back() < of_ranks;
    };
    if (std::ranges::all_of(group.parts, is_one_of_them)) {
      group.of_ranks = static_cast<size_t>(of_ranks);
      return true;
    }
  }
  // A rank of several that holds its shares of fused tensors.
  const auto is_whole_elsewhere = [](const Holder* part) { return part->ranks == std::vector<int64_t>{-1}; };
  if (of_whole == 1 && group.parts.size() > 1 && group.whole->ranks[0] >= 0 && all > whole &&
      all % whole == 0 && group.whole->ranks[0] < all / whole &&
      std::ranges::all_of(group.parts, is_whole_elsewhere)) {
    group.whole_of_ranks = static_cast<size_t>(all / whole);
    return true;
  }
  // One that is padded is longer; its data will tell.
  const bool may_be_padded = group.parts.size() == 1 && of_parts == 1;
  return are_copies || all == whole * static_cast<int64_t>(of_whole) || may_be_padded;
}

struct Wanted {
  PartGroup group;
  Why why;
  std::string note;
};

class KnownNames {
 public:
  explicit KnownNames(Meeting& meeting) : meeting_(meeting) {}

  void run() {
    for (const Side side : {Side::mine, Side::golden})
      for (Holder* holder : meeting_.waiting(side)) {
        by_plain_[index(side)][holder->form.plain].push_back(holder);
        if (holder->role) by_role_[index(side)][key_of(*holder->role, holder->role->what)].push_back(holder);
      }
    want_same_names();
    want_same_roles();
    want_compositions();
    want_stacks();
    meet_wanted();
  }

 private:
  // Place, expert (or kAll for a stack of them), role.
  using Key = std::tuple<std::string, int64_t, std::string_view>;
  using ByRole = std::map<Key, std::vector<Holder*>>;
  static constexpr int64_t kAll = -2;

  static size_t index(Side side) { return static_cast<size_t>(side); }
  static Key key_of(const KnownName& role, std::string_view what) {
    return {role.place, role.is_stacked ? kAll : role.expert, what};
  }

  // The only one of its kind that waits.
  Holder* find(Side side, const Key& key) const {
    const auto found = by_role_[index(side)].find(key);
    return found == by_role_[index(side)].end() || found->second.size() != 1 ? nullptr : found->second[0];
  }

  void want(PartGroup group, Why why, std::string note) {
    if (taken_.contains(group.whole) ||
        std::ranges::any_of(group.parts, [&](Holder* part) { return taken_.contains(part); }))
      return;
    // Of another shape, the row will say so.
    const bool is_plain =
        group.parts.size() == 1 && group.parts[0]->sources() == 1 && group.whole->sources() == 1;
    if ((!settle_ranks(group) || meeting_.arrangements(group).empty()) && !is_plain) return;
    taken_.insert(group.whole);
    taken_.insert(group.parts.begin(), group.parts.end());
    wanted_.push_back({std::move(group), why, std::move(note)});
  }

  static PartGroup pair_of(Holder& mine, Holder& golden) {
    // Before it is known what ranks hold: copies are as long as the other side.
    if (mine.shape.count() == golden.shape.count()) return {Side::mine, {&mine}, &golden};
    return group_of(mine, golden);
  }

  void want_same_names() {
    for (const auto& [plain, mine] : by_plain_[0]) {
      const auto golden = by_plain_[1].find(plain);
      if (mine.size() != 1 || golden == by_plain_[1].end() || golden->second.size() != 1) continue;
      want(pair_of(*mine[0], *golden->second[0]), Why::alike_name, "");
    }
  }

  void want_same_roles() {
    for (const auto& [key, mine] : by_role_[0])
      if (Holder* const golden = find(Side::golden, key); golden != nullptr && mine.size() == 1)
        want(pair_of(*mine[0], *golden), Why::known_name,
             fmt::format("known renaming: {} is {}", mine[0]->role->path, golden->role->path));
  }

  static std::string note_of(const PartGroup& group) {
    std::vector<std::string_view> paths;
    for (const Holder* part : group.parts)
      if (std::ranges::find(paths, part->role->path) == paths.end()) paths.push_back(part->role->path);
    return fmt::format("known renaming: {} {} {}", fmt::join(paths, ", "),
                       group.parts.size() == 1 ? "is" : "are parts of", group.whole->role->path);
  }

  // q, k and v against qkv; gate and up against gate_up.
  void want_compositions() {
    for (const Side side : {Side::mine, Side::golden})
      for (const auto& [key, wholes] : by_role_[index(side)]) {
        if (wholes.size() != 1) continue;
        for (const Composition& composition : compositions())
          if (composition.whole == std::get<2>(key)) want_composition(side, *wholes[0], composition);
      }
  }

  void want_composition(Side whole_side, Holder& whole, const Composition& composition) {
    const Side side = other_side(whole_side);
    PartGroup group{side, {}, &whole};
    for (const std::string_view what : composition.parts) {
      Holder* const part = find(side, key_of(*whole.role, what));
      if (part == nullptr) return;
      group.parts.push_back(part);
    }
    const bool lacks_gate = composition.parts.size() == 1 && composition.parts[0] == "up" &&
                            find(side, key_of(*whole.role, "gate")) != nullptr;
    if (lacks_gate) return;
    if (group.parts.size() == 1) {
      Holder& mine = whole_side == Side::mine ? whole : *group.parts[0];
      Holder& golden = whole_side == Side::mine ? *group.parts[0] : whole;
      group = pair_of(mine, golden);
    }
    std::string note = note_of(group);
    want(std::move(group), Why::known_name, std::move(note));
  }

  // The experts of a layer against one tensor of all of them.
  void want_stacks() {
    for (const Side side : {Side::mine, Side::golden})
      for (const auto& [key, wholes] : by_role_[index(side)]) {
        const auto& [place, expert, what] = key;
        if (expert != kAll || wholes.size() != 1) continue;
        std::vector<std::vector<std::string_view>> ways = {{what}};
        for (const Composition& each : compositions())
          if (each.whole == what) ways.push_back(each.parts);
        for (const auto& way : ways) want_stack(other_side(side), *wholes[0], way);
      }
  }

  void want_stack(Side side, Holder& whole, const std::vector<std::string_view>& parts_of_one) {
    PartGroup group{side, {}, &whole};
    for (int64_t expert = 0;; ++expert) {
      std::vector<Holder*> of_one;
      for (const std::string_view what : parts_of_one)
        if (Holder* const part = find(side, {whole.role->place, expert, what})) of_one.push_back(part);
      if (of_one.size() != parts_of_one.size()) break;
      group.parts.insert(group.parts.end(), of_one.begin(), of_one.end());
    }
    if (group.parts.empty()) return;
    std::string note = note_of(group);
    want(std::move(group), Why::known_name, std::move(note));
  }

  // Those whose data show how they lie first: what they show holds for the others.
  void meet_wanted() {
    std::vector<const Wanted*> left;
    for (const Wanted& wanted : wanted_)
      if (!meeting_.meet(wanted.group, wanted.why, wanted.note, PartsThatFit::all)) left.push_back(&wanted);
    for (const Wanted* wanted : left) {
      const auto known = meeting_.kinds().arrangement(wanted->group);
      const auto& candidates = meeting_.arrangements(wanted->group);
      if (known && *known < candidates.size()) {
        meeting_.decide(wanted->group, *known, {.why = wanted->why, .note = wanted->note, .by_data = false});
        continue;
      }
      if (meeting_.meet(wanted->group, wanted->why, wanted->note, PartsThatFit::some)) continue;
      Decision decision{.why = wanted->why, .note = wanted->note, .by_data = false};
      // Padding has to be shown.
      if (candidates.empty() || (candidates[0][0].window && candidates[0][0].window->is_padded)) {
        meeting_.decide_as_they_stand(wanted->group, std::move(decision));
        continue;
      }
      if (candidates.size() > 1 && !candidates[0][0].text.empty()) {
        decision.doubts.is_unsure = true;
        decision.note += fmt::format("{}unsure: laid out as the shapes allow, the data fit no way",
                                     decision.note.empty() ? "" : "; ");
      }
      meeting_.decide(wanted->group, 0, std::move(decision));
    }
  }

  Meeting& meeting_;
  std::map<std::string_view, std::vector<Holder*>> by_plain_[2];
  ByRole by_role_[2];
  std::set<const Holder*> taken_;
  std::vector<Wanted> wanted_;
};

}  // namespace

void meet_known(Meeting& meeting) {
  KnownNames(meeting).run();
  for (Decision& decision : meeting.decisions()) {
    if (decision.why != Why::known_name || decision.layout == nullptr ||
        is_in_order(decision.group, *decision.layout))
      continue;
    std::vector<std::string_view> paths;
    for (const Holder* part : decision.group.parts) paths.push_back(part->role->path);
    decision.doubts.contradiction = fmt::format("the data lie in {} in another order than {}",
                                                decision.group.whole->role->path, fmt::join(paths, ", "));
  }
}

}  // namespace assay
