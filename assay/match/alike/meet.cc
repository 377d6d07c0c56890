#include "assay/match/alike/meet.h"

#include "assay/match/alike/assign.h"
#include "assay/match/alike/group_plans.h"
#include "assay/match/alike/kinds.h"
#include "assay/match/alike/relatives.h"
#include "assay/match/alike/solve.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace assay {
namespace {

constexpr double kSameOrder = 0.25;  // relative distance; unrelated tensors are 1.4 apart
constexpr double kSameSums = 0.15;   // of sums in any order; unrelated ones are about 1 apart
constexpr size_t kMostTried = 8;     // candidates whose elements are looked at

class Meeting {
 public:
  Meeting(PairingBuilder& builder, const Contents& contents, Holders& holders)
      : builder_(builder), solver_(contents), holders_(holders) {}

  void run() {
    meet_by_name();
    meet_equal();
    meet_like_neighbours();
    meet_among_equals();
    meet_groups();
    meet_like_neighbours();
    meet_rearranged();
    meet_like_neighbours();
  }

  bool was_cut_short() const { return was_cut_short_; }

 private:
  using Arrangements = std::vector<std::vector<Arrangement>>;

  // Layers have the same shapes over and over.
  const Arrangements& arrangements(const PartGroup& group) {
    const auto [found, is_new] = known_arrangements_.try_emplace(shapes_of(group));
    if (is_new) found->second = arrangements_of(group);
    return found->second;
  }

  std::vector<Holder*> waiting(Side side) {
    std::vector<Holder*> found;
    for (Holder& holder : holders_.on(side))
      if (!holder.is_joined) found.push_back(&holder);
    return found;
  }

  // Whether so many may still be held against so many: useless names of a million tensors must not take
  // hours.
  bool afford(size_t mine, size_t golden) {
    const auto wanted = static_cast<int64_t>(mine) * static_cast<int64_t>(golden);
    was_cut_short_ |= wanted > left_to_spend_;
    if (wanted > left_to_spend_) return false;
    left_to_spend_ -= wanted;
    return true;
  }

  // The arrangement that the data show; of a kind that was seen, that one is tried first.
  std::optional<Solved> solve(const PartGroup& group) {
    const Arrangements& candidates = arrangements(group);
    const std::vector<GroupOnRank> ranks = on_ranks(builder_, group);
    if (candidates.empty() || ranks.empty()) return std::nullopt;
    const GroupOnRank& first = ranks[0];
    if (const auto known = kinds_.arrangement(group); known && *known < candidates.size())
      if (solver_.is_likely(first.parts, first.counts, first.sources, candidates[*known]))
        return Solved{*known, 0};
    return solver_.solve(first.parts, first.counts, first.sources, candidates);
  }

  void join(const PartGroup& group, size_t arrangement, Why why, const std::string& note, bool is_unsure) {
    join_group(builder_, group, arrangements(group)[arrangement], why, note, is_unsure);
    for (Holder* part : group.parts) part->is_joined = true;
    group.whole->is_joined = true;
  }

  bool meet(const PartGroup& group, Why why) {
    const auto solved = solve(group);
    if (!solved) return false;
    const bool is_unsure = solved->rivals > 0 && !kinds_.arrangement(group);
    join(group, solved->which, why,
         is_unsure ? fmt::format("unsure: {} other ways to lay it out fit as well", solved->rivals) : "",
         is_unsure);
    if (!is_unsure) kinds_.learn(group, solved->which);
    return true;
  }

  // Ranks that hold all of a tensor, though not all the same: one of them is wrong.
  static void settle_copies(Holder& a, Holder& b) {
    for (Holder* holder : {&a, &b}) {
      const Holder& other = holder == &a ? b : a;
      if (holder->is_one() || !other.is_one() || holder->shape() != other.shape()) continue;
      holder->is_copied = true;
      holder->sums = holder->sketches[0]->sums;
    }
  }

  // The finer of two is the part.
  static PartGroup group_of(Holder& mine, Holder& golden) {
    const bool mine_is_whole = !golden.is_one() && mine.is_one();
    const bool mine_is_larger = mine.sums.count > golden.sums.count;
    if (mine_is_whole || (mine_is_larger && mine.is_one() == golden.is_one()))
      return {Side::golden, {&golden}, &mine};
    return {Side::mine, {&mine}, &golden};
  }

  // The same name on other ranks, or in another shape.
  void meet_by_name() {
    std::unordered_map<std::string_view, std::vector<Holder*>> golden;
    for (Holder* holder : waiting(Side::golden)) golden[holder->form.plain].push_back(holder);
    std::unordered_map<std::string_view, int> in_mine;
    for (const Holder* holder : waiting(Side::mine)) ++in_mine[holder->form.plain];
    for (Holder* mine : waiting(Side::mine)) {
      const auto found = golden.find(mine->form.plain);
      if (found == golden.end() || found->second.size() != 1 || in_mine[mine->form.plain] != 1) continue;
      settle_copies(*mine, *found->second[0]);
      const PartGroup group = group_of(*mine, *found->second[0]);
      if (!meet(group, Why::alike_name)) by_name_only_.push_back(group);
    }
  }

  // As many elements in the same order.
  void meet_equal() {
    std::map<int64_t, Tie> by_count;
    std::map<std::pair<int64_t, double>, Tie> constants;  // thousands of norms of ones tell nothing apart
    for (const Side side : {Side::mine, Side::golden})
      for (Holder* holder : waiting(side)) {
        const ContentSums& sums = holder->sketches[0]->sums;
        if (!holder->is_one() || sums.count < kElementsThatTell) continue;
        Tie& alike = sums.is_constant() ? constants[{sums.count, sums.sum}] : by_count[sums.count];
        (side == Side::mine ? alike.mine : alike.golden).push_back(holder);
      }
    for (auto& [value, tie] : constants)
      if (!tie.mine.empty() && !tie.golden.empty()) equals_.push_back(std::move(tie));
    for (auto& [count, sides] : by_count) {
      if (!afford(sides.mine.size(), sides.golden.size())) continue;
      const Nearest nearest = find_nearest(sides.mine, sides.golden, kSameOrder);
      for (const auto& [mine, golden] : nearest.sure) {
        const PartGroup group{Side::mine, {mine}, golden};
        join(group, 0, Why::same_content, "", false);
        kinds_.learn(group, 0);
      }
      equals_.insert(equals_.end(), nearest.tied.begin(), nearest.tied.end());
    }
  }

  // What lies like that of other layers, whatever it holds.
  void meet_like_neighbours() {
    for (const auto& [group, arrangement] : kinds_.predict(holders_)) {
      if (group.parts.size() == 1) settle_copies(*group.parts[0], *group.whole);
      if (arrangement >= arrangements(group).size()) continue;
      const bool still_waits =
          !group.whole->is_joined && std::ranges::none_of(group.parts, &Holder::is_joined);
      if (still_waits) join(group, arrangement, Why::like_neighbours, "", false);
    }
    for (const PartGroup& group : by_name_only_) {
      if (group.whole->is_joined || group.parts[0]->is_joined || arrangements(group).empty()) continue;
      join(group, 0, Why::alike_name, "unsure: laid out as the shapes allow, the data fit no way", true);
    }
  }

  // Several hold the same, as norms of ones do: the likest names.
  void meet_among_equals() {
    for (const Tie& tie : equals_) {
      std::vector<Holder*> mine, golden;
      for (Holder* holder : tie.mine)
        if (!holder->is_joined) mine.push_back(holder);
      for (Holder* holder : tie.golden)
        if (!holder->is_joined) golden.push_back(holder);
      for (const auto& [m, g] : assign_by_name(mine, golden)) {
        join({Side::mine, {m}, g}, 0, Why::same_content,
             golden.size() == 1
                 ? "unsure: what they hold may be equal by chance"
                 : fmt::format("unsure: {} tensors of golden hold the same; the likest name", golden.size()),
             true);
      }
    }
  }

  // Parts of fused tensors, shares of ranks, stacked experts.
  void meet_groups() {
    for (const Side side : {Side::mine, Side::golden}) {
      std::unordered_map<int64_t, std::vector<Holder*>> wholes;
      for (Holder* holder : waiting(other_side(side))) wholes[holder->sums.count].push_back(holder);
      for (const std::vector<Holder*>& parts : list_relatives(waiting(side))) {
        if (std::ranges::any_of(parts, &Holder::is_joined)) continue;
        ContentSums sums;
        for (const Holder* part : parts) sums += part->sums;
        const auto found = wholes.find(sums.count);
        if (found == wholes.end() || sums.count < kElementsThatTell) continue;
        meet_best(side, parts, sums, found->second);
      }
    }
  }

  bool meet_best(Side side, const std::vector<Holder*>& parts, const ContentSums& sums,
                 const std::vector<Holder*>& wholes) {
    std::vector<std::pair<double, Holder*>> near;
    if (!afford(1, wholes.size())) return false;
    for (Holder* whole : wholes)
      if (const double apart = distance(sums, whole->sums); !whole->is_joined && apart < kSameSums)
        near.emplace_back(apart, whole);
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (near.size() > kMostTried) near.resize(kMostTried);
    for (const auto& [apart, whole] : near)
      if (meet({side, parts, whole}, Why::same_content)) return true;
    return false;
  }

  // Transposed, in another order of dimensions, padded.
  void meet_rearranged() {
    std::vector<Holder*> golden = waiting(Side::golden);
    for (Holder* mine : waiting(Side::mine)) {
      if (mine->sums.count < kElementsThatTell || !afford(1, golden.size())) continue;
      std::vector<std::pair<double, Holder*>> near;
      for (Holder* each : golden)
        if (const double apart = distance(mine->sums, each->sums); !each->is_joined && apart < kSameSums)
          near.emplace_back(apart, each);
      std::stable_sort(near.begin(), near.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      if (near.size() > kMostTried) near.resize(kMostTried);
      for (const auto& [apart, each] : near)
        if (meet(group_of(*mine, *each), Why::same_content)) break;
    }
  }

  PairingBuilder& builder_;
  const Solver solver_;
  Holders& holders_;
  Kinds kinds_;
  std::map<GroupShapes, Arrangements> known_arrangements_;
  std::vector<Tie> equals_;
  std::vector<PartGroup> by_name_only_;
  int64_t left_to_spend_ = 400'000'000;  // comparisons of sketches: some seconds
  bool was_cut_short_ = false;
};

}  // namespace

void join_alike_names(PairingBuilder& builder) {
  struct Bearers {
    std::vector<size_t> positions[2];
  };
  std::unordered_map<std::string, Bearers> by_name;
  std::vector<const Bearers*> in_order;
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i) {
      if (builder.is_joined(side, i)) continue;
      const NameForm form = form_of(builder.name(side, i));
      const auto [found, is_new] = by_name.try_emplace(form.plain);
      if (is_new) in_order.push_back(&found->second);
      found->second.positions[static_cast<size_t>(side)].push_back(i);
    }
  for (const Bearers* bearers : in_order) {
    if (bearers->positions[0].size() != 1 || bearers->positions[1].size() != 1) continue;
    const size_t mine = bearers->positions[0][0], golden = bearers->positions[1][0];
    PairPlans plans;
    plans.note = fmt::format(
        "same but for {}", difference_of(builder.name(Side::mine, mine), builder.name(Side::golden, golden)));
    builder.join(mine, golden, Why::alike_name, std::move(plans));
  }
}

Result<void> join_by_content(PairingBuilder& builder, const Contents& contents, Remarks& remarks) {
  bool waits[2] = {false, false};
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i)
      waits[static_cast<size_t>(side)] |= is_waiting(builder, side, i);
  if (!waits[0] || !waits[1]) return {};
  ASSAY_TRY(Holders holders, collect_holders(builder, contents));
  Meeting meeting(builder, contents, holders);
  meeting.run();
  if (meeting.was_cut_short())
    remarks.push_back(
        std::string("too many tensors have names that do not meet, so that not all were held against all "
                    "others; --rename tells how the names of mine read in golden"));
  return {};
}

std::optional<std::string> hint_of_names(const PairingBuilder& builder) {
  constexpr size_t kMostLookedAt = 200;  // of each side: a hint, not a search
  std::vector<size_t> left[2];
  size_t count[2] = {0, 0};
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i) {
      if (builder.is_joined(side, i)) continue;
      ++count[static_cast<size_t>(side)];
      if (left[static_cast<size_t>(side)].size() < kMostLookedAt)
        left[static_cast<size_t>(side)].push_back(i);
    }
  double best = 0;
  std::string_view mine, golden;
  for (const size_t m : left[0])
    for (const size_t g : left[1]) {
      const std::string_view a = builder.name(Side::mine, m), b = builder.name(Side::golden, g);
      if (const double like = likeness(form_of(a).plain, form_of(b).plain); like > best) {
        best = like;
        mine = a;
        golden = b;
      }
    }
  if (best == 0) return std::nullopt;
  return fmt::format(
      "{} of mine and {} of golden found no partner; the likest names among them are '{}' and '{}'. "
      "--rename 'REGEX=TEXT' pairs names that differ, --match content what holds the same",
      count[0], count[1], mine, golden);
}

}  // namespace assay
