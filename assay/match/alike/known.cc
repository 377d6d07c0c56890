#include "assay/base/text.h"
#include "assay/match/alike/rank_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

constexpr int64_t kMostRanks = 65'536;
constexpr size_t kMostRanksOfOneHead = 256;  // of which some hold the same keys

// More ranks than shares, as where there are fewer heads of keys than ranks: neighbours hold the same.
bool has_copied_shares(const Holder& ranks, const Holder& whole) {
  const int64_t share = ranks.shape.count(), all = whole.shape.count();
  if (whole.sources() != 1 || share >= all || all % share != 0) return false;
  const auto shares = static_cast<size_t>(all / share);
  return ranks.sources() > shares && ranks.sources() % shares == 0;
}

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
  if (of_whole == 1 && group.whole->ranks[0] < 0 && together < whole && whole % together == 0 &&
      whole / together <= kMostRanks) {
    const auto shares = static_cast<size_t>(whole / together);
    const auto say_which = [&](const Holder* part) {
      return part->ranks == group.parts[0]->ranks && part->ranks.front() >= 0;
    };
    // Some ranks of several, which say which they are. How many there are, all such groups say together.
    if (all < whole && std::ranges::all_of(group.parts, say_which)) {
      group.of_shares = group.of_ranks = shares;
      return true;
    }
    if (group.parts.size() == 1 && has_copied_shares(*group.parts[0], *group.whole)) {
      group.of_shares = shares;
      return true;
    }
  }
  // A rank of several that holds its shares of fused tensors.
  const auto is_whole_elsewhere = [&](const Holder* part) {
    return part->ranks == std::vector<int64_t>{-1} && !part->shape.dims.empty() &&
           part->shape.dims[0] % (all / whole) == 0;
  };
  if (of_whole == 1 && group.parts.size() > 1 && group.whole->ranks[0] >= 0 && all > whole &&
      all % whole == 0 && all / whole <= kMostRanks && std::ranges::all_of(group.parts, is_whole_elsewhere)) {
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
  Doubts doubts = {};
  bool is_no_share = false;  // of ranks: it can only be compared as it stands

  bool has_missing_ranks() const { return group.of_ranks > 0 || group.whole_of_ranks > 0; }
};

class KnownNames {
 public:
  explicit KnownNames(Meeting& meeting) : meeting_(meeting), world_(meeting.builder(), meeting.contents()) {}

  void run() {
    look_at_stacks();
    for (const Side side : {Side::mine, Side::golden}) {
      tell_norms_apart(side);
      for (Holder* holder : meeting_.waiting(side)) {
        by_plain_[index(side)][holder->form.plain].push_back(holder);
        if (holder->role) {
          by_role_[index(side)][key_of(*holder->role, holder->role->what)].push_back(holder);
        } else if (Seat seat = seat_of(holder->form.plain); !seat.name.empty()) {
          by_seat_[index(side)][in_stack(seat.stack, seat.name)].push_back(holder);
        }
      }
    }
    want_same(by_plain_);
    want_same(by_seat_);
    want_same_roles();
    want_compositions();
    want_stacks();
    settle_world();
    meet_wanted();
  }

 private:
  // Place, expert (or kAll for a stack of them), role.
  using Key = std::tuple<std::string, int64_t, std::string_view>;
  using ByRole = std::map<Key, std::vector<Holder*>>;
  static constexpr int64_t kAll = -2;

  static size_t index(Side side) { return static_cast<size_t>(side); }
  Key key_of(const KnownName& role, int64_t expert, std::string_view what) const {
    return {in_stack(role.stack, role.place), expert, what};
  }
  Key key_of(const KnownName& role, std::string_view what) const {
    return key_of(role, role.is_stacked ? kAll : role.expert, what);
  }
  std::string in_stack(std::string_view stack, const std::string& place) const {
    return has_stacks_ ? fmt::format("{}.{}", stack, place) : place;
  }

  // Of a model that has both, the layers of its encoder are not those of its decoder; any other may call its
  // only layers either.
  void look_at_stacks() {
    for (const Side side : {Side::mine, Side::golden}) {
      std::set<std::string_view> stacks;
      for (const Holder* holder : meeting_.waiting(side))
        if (const std::string_view stack =
                holder->role ? holder->role->stack : seat_of(holder->form.plain).stack;
            !stack.empty())
          stacks.insert(stack);
      has_stacks_ |= stacks.size() > 1;
    }
  }

  // What is called "post_attention_layernorm" stands before the second half of a layer, or, where another
  // norm does, behind the first.
  void tell_norms_apart(Side side) {
    std::set<std::string> places;
    const auto each_norm = [&](const auto& use) {
      for (Holder* holder : meeting_.waiting(side))
        if (holder->role && holder->role->what == "norm2")
          use(*holder->role, in_stack(holder->role->stack, holder->role->place));
    };
    each_norm([&](const KnownName& role, const std::string& place) {
      if (!may_be_behind_attention(role)) places.insert(place);
    });
    each_norm([&](KnownName& role, const std::string& place) {
      if (may_be_behind_attention(role) && places.contains(place)) role.what = "norm_behind_attention";
    });
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
    if (want_each_rank(group, why, note)) return;
    const bool is_settled = settle_ranks(group);
    const bool lacks_ranks = group.of_ranks > 0 || group.whole_of_ranks > 0;  // which are settled in the end
    if (!is_plain && (!is_settled || (!lacks_ranks && meeting_.arrangements(group).empty()))) {
      const auto crossed = crossed_of(group);
      if (!crossed) return;
      group = *crossed;
    }
    taken_.insert(group.whole);
    taken_.insert(group.parts.begin(), group.parts.end());
    wanted_.push_back({std::move(group), why, std::move(note)});
  }

  // Ranks that hold their shares of a fused tensor, some of several, or all of them with keys that neighbours
  // hold, too: each of them against the parts.
  bool want_each_rank(const PartGroup& group, Why why, const std::string& note) {
    const Holder& whole = *group.whole;
    if (group.parts.size() < 2 || whole.ranks.front() < 0) return false;
    std::vector<PartGroup> of_ranks;
    for (size_t i = 0; i < whole.sources(); ++i) {
      Holder own = whole;
      own.positions = {whole.positions[i]};
      own.ranks = {whole.ranks[i]};
      if (whole.sources() > 1) own.other_ranks = whole.ranks;
      own.sums.count = own.shape.count();
      PartGroup& one = of_ranks.emplace_back(group);
      one.whole = &meeting_.keep(std::move(own));
      const bool is_even = settle_ranks(one) && one.whole_of_ranks >= whole.sources();
      if (is_even && one.whole_of_ranks == whole.sources() && whole.sources() > 1) return false;
      size_t ranks = whole.sources();  // at least; how many there are, all such groups say together
      while (!is_even && !settle_copied_keys(one, ranks))
        if (++ranks > kMostRanksOfOneHead) return false;
    }
    taken_.insert(group.whole);
    taken_.insert(group.parts.begin(), group.parts.end());
    for (PartGroup& one : of_ranks) wanted_.push_back({std::move(one), why, note});
    return true;
  }

  // The same group with the shares of both sides joined, where they may lie in each other only so.
  std::optional<PartGroup> crossed_of(const PartGroup& group) {
    const bool may_be = group.parts.size() == 1 && group.parts[0]->shares() > 1 && group.of_shares == 0 &&
                        group.whole_of_ranks == 0 && group.parts[0]->shape != group.whole->shape;
    if (!may_be) return std::nullopt;
    PartGroup crossed = group;
    crossed.joins_both = true;
    return meeting_.arrangements(crossed).empty() ? std::nullopt : std::optional(std::move(crossed));
  }

  static PartGroup pair_of(Holder& mine, Holder& golden) {
    // Before it is known what ranks hold: copies are as long as the other side.
    if (mine.shape.count() == golden.shape.count()) return {Side::mine, {&mine}, &golden};
    if (has_copied_shares(mine, golden)) return {Side::mine, {&mine}, &golden};
    if (has_copied_shares(golden, mine)) return {Side::golden, {&golden}, &mine};
    return group_of(mine, golden);
  }

  Why why_of(const Holder& mine, const Holder& golden) const {
    const PairingBuilder& builder = meeting_.builder();
    const bool is_same = mine.sources() == 1 && golden.sources() == 1 &&
                         builder.name_as_read(Side::mine, mine.positions[0]) ==
                             builder.name_as_read(Side::golden, golden.positions[0]);
    return is_same ? Why::same_name : Why::alike_name;
  }

  template <class ByName>
  void want_same(const ByName (&by_name)[2]) {
    for (const auto& [name, mine] : by_name[0]) {
      const auto golden = by_name[1].find(name);
      if (mine.size() != 1 || golden == by_name[1].end() || golden->second.size() != 1) continue;
      const std::string_view of_mine = mine[0]->form.plain, of_golden = golden->second[0]->form.plain;
      want(pair_of(*mine[0], *golden->second[0]), why_of(*mine[0], *golden->second[0]),
           of_mine == of_golden ? std::string()
                                : fmt::format("same but for {}", difference_of(of_mine, of_golden)));
    }
  }

  void want_same_roles() {
    for (const auto& [key, mine] : by_role_[0])
      if (Holder* const golden = find(Side::golden, key); golden != nullptr && mine.size() == 1)
        want(pair_of(*mine[0], *golden), Why::known_name,
             fmt::format("known renaming: {}", words_apart(*mine[0], *golden)));
  }

  // "attention.wq is self_attn.q_proj", "kernel is weight".
  static std::string words_apart(const Holder& mine, const Holder& golden) {
    if (mine.role->path != golden.role->path)
      return fmt::format("{} is {}", mine.role->path, golden.role->path);
    const std::vector<std::string_view> words = split(mine.form.plain, '.'),
                                        others = split(golden.form.plain, '.');
    if (words.size() != others.size()) return fmt::format("{} is {}", mine.form.plain, golden.form.plain);
    std::vector<std::string> apart;
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] != others[i]) apart.push_back(fmt::format("{} is {}", words[i], others[i]));
    return fmt::format("{}", fmt::join(apart, ", "));
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
        if (Holder* const part = find(side, key_of(*whole.role, expert, what))) of_one.push_back(part);
      if (of_one.size() != parts_of_one.size()) break;
      group.parts.insert(group.parts.end(), of_one.begin(), of_one.end());
    }
    if (group.parts.empty()) return;
    std::string note = note_of(group);
    want(std::move(group), Why::known_name, std::move(note));
  }

  // How many ranks there are, where some are missing, and what each of them holds.
  void settle_world() {
    if (std::ranges::none_of(wanted_, &Wanted::has_missing_ranks)) return;
    for (const Wanted& wanted : wanted_) {
      const PartGroup& group = wanted.group;
      if (wanted.has_missing_ranks() || (group.parts[0]->shares() > 1 && group.whole->shares() == 1))
        world_.add(group);
      else if (group.parts.size() == 1 && group.parts[0]->shape.count() == group.whole->shape.count())
        for (const Side side : {Side::mine, Side::golden})
          world_.add_whole(side, side == group.parts_side ? *group.parts[0] : *group.whole);
    }
    for (Wanted& wanted : wanted_) {
      if (!wanted.has_missing_ranks()) {
        world_.settle_copies(wanted.group);
        continue;
      }
      if (std::string why = world_.settle(wanted.group); !why.empty()) {
        wanted.is_no_share = true;
        wanted.doubts.contradiction = std::move(why);
      } else {
        wanted.doubts = world_.doubts_of(wanted.group);
      }
    }
    // Of several parts that stand against one tensor, none can be compared as it stands.
    std::erase_if(wanted_, [&](const Wanted& wanted) {
      const bool has_none =
          wanted.is_no_share || (wanted.has_missing_ranks() && meeting_.arrangements(wanted.group).empty());
      return has_none && wanted.group.parts.size() > 1;
    });
  }

  bool meet_all(const Wanted& wanted) {
    const auto meet = [&](const PartGroup& group) {
      return meeting_.meet(group, wanted.why, wanted.note, PartsThatFit::all, wanted.doubts);
    };
    if (meet(wanted.group)) return true;
    const auto crossed = crossed_of(wanted.group);
    return crossed && meet(*crossed);
  }

  // Those whose data show how they lie first: what they show holds for the others.
  void meet_wanted() {
    std::vector<Wanted*> left;
    for (Wanted& wanted : wanted_)
      if (wanted.is_no_share)
        meeting_.decide_as_they_stand(
            wanted.group,
            {.why = wanted.why, .note = wanted.note, .by_data = false, .doubts = wanted.doubts});
      else if (!meet_all(wanted))
        left.push_back(&wanted);
    for (Wanted* wanted : left) {
      // A share against a view of another's share would say nothing of either.
      const auto crossed = crossed_of(wanted->group);
      if (crossed && !meeting_.kinds().arrangement(wanted->group)) wanted->group = *crossed;
      const auto known = meeting_.kinds().arrangement(wanted->group);
      const auto& candidates = meeting_.arrangements(wanted->group);
      if (known && *known < candidates.size()) {
        meeting_.decide(
            wanted->group, *known,
            {.why = wanted->why, .note = wanted->note, .by_data = false, .doubts = wanted->doubts});
        continue;
      }
      if (meeting_.meet(wanted->group, wanted->why, wanted->note, PartsThatFit::some, wanted->doubts))
        continue;
      Decision decision{.why = wanted->why, .note = wanted->note, .by_data = false, .doubts = wanted->doubts};
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
  bool has_stacks_ = false;  // layers of an encoder and of a decoder
  std::map<std::string_view, std::vector<Holder*>> by_plain_[2];
  std::map<std::string, std::vector<Holder*>> by_seat_[2];
  ByRole by_role_[2];
  std::set<const Holder*> taken_;
  std::vector<Wanted> wanted_;
  RankWorld world_;
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
