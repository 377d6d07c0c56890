#include "assay/match/alike/assign.h"
#include "assay/match/alike/meeting.h"
#include "assay/match/alike/relatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace assay {
namespace {

constexpr double kSameOrder = 0.35;  // relative distance; unrelated tensors are 1.4 apart
constexpr double kSameSums = 0.15;   // of sums in any order; unrelated ones are about 1 apart
constexpr size_t kMostTried = 8;     // candidates whose elements are looked at

// What a group costs, in comparisons of sketches, and each of its parts.
constexpr int64_t kLooksAtElements = 1000, kLooksAtPart = 100;

// What assign_by_name costs: names are held against each other, and the best of all is sought.
int64_t cost_of_assignment(size_t mine, size_t golden) {
  const auto fewer = static_cast<int64_t>(std::min(mine, golden)),
             more = static_cast<int64_t>(std::max(mine, golden));
  return more > kMostAssigned ? more : fewer * more * (10 + fewer / 20);
}

// Tensors by the sum of their elements: near ones are found without a look at all of them.
class BySum {
 public:
  explicit BySum(const std::vector<Holder*>& holders) {
    for (Holder* holder : holders) sorted_.emplace_back(holder->sums.sum, holder);
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  // The nearest first, at most kMostTried; none where the effort ended.
  std::vector<Holder*> near(const ContentSums& sums, Effort& effort) const {
    constexpr double kMargin = 1.1;  // the norm of the other may be a little larger
    const double reach = kMargin * kSameSums * std::sqrt(sums.squares);
    if (std::isnan(sums.sum - reach) || std::isnan(sums.sum + reach)) return {};
    const auto first = std::ranges::lower_bound(sorted_, sums.sum - reach, {}, &Entry::first);
    const auto last = std::ranges::upper_bound(sorted_, sums.sum + reach, {}, &Entry::first);
    if (first >= last || !effort.allows(last - first)) return {};
    std::vector<std::pair<double, size_t>> found;  // and where it stands: of equally near ones the first
    for (auto at = first; at != last; ++at)
      if (const double apart = distance(sums, at->second->sums); !at->second->is_joined && apart < kSameSums)
        found.emplace_back(apart, static_cast<size_t>(at - sorted_.begin()));
    const size_t count = std::min(found.size(), kMostTried);
    std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(count), found.end());
    std::vector<Holder*> holders;
    for (size_t i = 0; i < count; ++i) holders.push_back(sorted_[found[i].second].second);
    return holders;
  }

 private:
  using Entry = std::pair<double, Holder*>;
  std::vector<Entry> sorted_;
};

class ByContent {
 public:
  ByContent(Meeting& meeting, Effort& effort) : meeting_(meeting), effort_(effort) {}

  Result<bool> run() {
    meet_equal();
    if (effort_.is_spent()) return false;  // nothing need be read for what is dropped
    meeting_.meet_like_neighbours(Why::same_content);
    // A few layers tell how the others lie: their tensors need not be read for it.
    for (const bool first : {true, false}) {
      for (const Side side : {Side::mine, Side::golden}) {
        const std::vector<Holder*> wanted = unread(side, first);
        ASSAY_TRY_DO(check_cancelled());
        ASSAY_TRY_DO(meeting_.sketch_whole(side, wanted));
      }
      equals_.clear();
      meet_equal();
      if (!first) {
        meeting_.meet_like_neighbours(Why::same_content);
        meet_among_equals();
      }
      meet_groups(PartsThatFit::all, first);
      meet_rearranged(first);
      if (effort_.is_spent()) return false;
      meeting_.meet_like_neighbours(Why::same_content);
    }
    meeting_.meet_like_neighbours(Why::like_neighbours);
    meet_groups(PartsThatFit::some, false);
    meet_what_is_left();
    ASSAY_TRY_DO(check_cancelled());
    return !was_cut_short_;
  }

 private:
  // What waits and was not read; the first of each kind of name, or all.
  std::vector<Holder*> unread(Side side, bool first) {
    constexpr size_t kLayers = 4;
    std::map<std::string_view, std::vector<Holder*>> by_pattern;
    for (Holder* holder : meeting_.waiting(side)) by_pattern[holder->form.pattern].push_back(holder);
    std::vector<Holder*> found;
    for (auto& [pattern, holders] : by_pattern) {
      std::ranges::stable_sort(holders, {}, [](const Holder* holder) { return holder->form.numbers; });
      if (first && holders.size() > kLayers) holders.resize(kLayers);
      for (Holder* holder : holders)
        if (!holder->is_known_whole) found.push_back(holder);
    }
    return found;
  }

  std::vector<Holder*> read(Side side) {
    std::vector<Holder*> found = meeting_.waiting(side);
    std::erase_if(found, [](const Holder* holder) { return !holder->is_known_whole; });
    return found;
  }

  // Whether so many may still be looked at: useless names of a million tensors must not take hours.
  bool afford(int64_t looks) {
    was_cut_short_ |= looks > left_to_spend_;
    if (looks > left_to_spend_) return false;
    left_to_spend_ -= looks;
    return true;
  }

  // As many elements in the same order.
  void meet_equal() {
    std::map<std::pair<int64_t, int64_t>, Tie> by_count;  // of elements, and of those that were looked at
    std::map<std::pair<int64_t, double>, Tie> constants;  // thousands of norms of ones tell nothing apart
    for (const Side side : {Side::mine, Side::golden})
      for (Holder* holder : meeting_.waiting(side)) {
        const ContentSums& sums = holder->sketches[0]->sums;
        if (!holder->is_one() || sums.count < kElementsThatTell) continue;
        if (sums.is_constant() && !holder->is_known_whole) continue;
        Tie& alike =
            sums.is_constant() ? constants[{sums.count, sums.sum}] : by_count[{sums.count, sums.looked_at}];
        (side == Side::mine ? alike.mine : alike.golden).push_back(holder);
      }
    for (auto& [value, tie] : constants)
      if (!tie.mine.empty() && !tie.golden.empty()) equals_.push_back(std::move(tie));
    for (auto& [count, sides] : by_count) {
      const Nearest nearest = find_nearest(sides.mine, sides.golden, kSameOrder, left_to_spend_, effort_);
      if (!effort_.allows(0)) return;
      left_to_spend_ -= nearest.spent;
      was_cut_short_ |= nearest.was_cut_short;
      for (const auto& [mine, golden] : nearest.sure) {
        const PartGroup group{Side::mine, {mine}, golden};
        meeting_.decide(group, 0, {});
        meeting_.kinds().learn(group, 0);
      }
      equals_.insert(equals_.end(), nearest.tied.begin(), nearest.tied.end());
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
      if (!effort_.allows(cost_of_assignment(mine.size(), golden.size()))) return;
      for (const auto& [m, g] : assign_by_name(mine, golden)) {
        Decision decision{.by_data = false, .doubts = {true}};
        decision.note =
            golden.size() == 1
                ? "unsure: what they hold may be equal by chance"
                : fmt::format("unsure: {} tensors of golden hold the same; the likest name", golden.size());
        meeting_.decide({Side::mine, {m}, g}, 0, std::move(decision));
      }
    }
  }

  // Parts of fused tensors, shares of ranks, stacked experts.
  void meet_groups(PartsThatFit wanted, bool leaves_constants) {
    for (const Side side : {Side::mine, Side::golden}) {
      std::unordered_map<int64_t, std::vector<Holder*>> by_count;
      for (Holder* holder : meeting_.waiting(other_side(side)))
        by_count[holder->sums.count].push_back(holder);
      std::unordered_map<int64_t, BySum> wholes;
      for (const auto& [count, holders] : by_count) wholes.emplace(count, BySum(holders));
      for (const std::vector<Holder*>& parts : list_relatives(read(side))) {
        if (!effort_.allows(std::ssize(parts))) return;
        if (std::ranges::any_of(parts, &Holder::is_joined)) continue;
        ContentSums sums;
        for (const Holder* part : parts) sums += part->sums;
        const auto found = wholes.find(sums.count);
        if (found == wholes.end() || sums.count < kElementsThatTell) continue;
        if (leaves_constants && sums.is_constant()) continue;
        if (wanted == PartsThatFit::some && parts.size() == 1) continue;
        std::vector<Holder*> near = found->second.near(sums, effort_);
        // A wrong part changes all sums.
        if (wanted == PartsThatFit::some && by_count[sums.count].size() <= kMostTried)
          near = by_count[sums.count];
        meet_first(side, parts, near, wanted);
      }
    }
  }

  void meet_first(Side side, const std::vector<Holder*>& parts, const std::vector<Holder*>& wholes,
                  PartsThatFit wanted) {
    for (Holder* whole : wholes) {
      const PartGroup group{side, parts, whole};
      if (!is_still_waiting(group) || !afford(kLooksAtElements)) continue;
      if (!effort_.allows(kLooksAtElements + kLooksAtPart * std::ssize(parts))) return;
      if (meeting_.meet(group, Why::same_content, "", wanted)) return;
    }
  }

  // Transposed, in another order of dimensions, padded.
  void meet_rearranged(bool leaves_constants) {
    const BySum golden(read(Side::golden));
    for (Holder* mine : read(Side::mine)) {
      if (mine->sums.count < kElementsThatTell || (leaves_constants && mine->sums.is_constant())) continue;
      for (Holder* each : golden.near(mine->sums, effort_)) {
        if (!effort_.allows(kLooksAtElements)) return;
        if (meeting_.meet(group_of(*mine, *each), Why::same_content, "", PartsThatFit::all)) break;
      }
      if (!effort_.allows(0)) return;
    }
  }

  // What stands before the first number of a name, with it: a layer.
  static std::string scope_of(const NameForm& form) {
    const size_t number = form.pattern.find('#');
    return number == std::string::npos
               ? std::string()
               : fmt::format("{}{}", std::string_view(form.pattern).substr(0, number), form.numbers[0]);
  }

  // Too small to tell, or with something else in it: the only one of its shape that is left in a layer.
  void meet_what_is_left() {
    std::map<std::string, std::map<std::string, int>> votes;
    for (const Decision& decision : meeting_.decisions()) {
      if (!decision.by_data) continue;
      const bool is_mine = decision.group.parts_side == Side::mine;
      for (const Holder* part : decision.group.parts) {
        const std::string of_part = scope_of(part->form), of_whole = scope_of(decision.group.whole->form);
        ++votes[is_mine ? of_part : of_whole][is_mine ? of_whole : of_part];
      }
    }
    using Place = std::pair<std::string, std::vector<int64_t>>;  // scope of golden, and dimensions
    std::map<Place, Tie> left;
    for (Holder* mine : meeting_.waiting(Side::mine)) {
      const auto found = votes.find(scope_of(mine->form));
      if (found == votes.end() || found->second.size() != 1 || !mine->is_one()) continue;
      left[{found->second.begin()->first, mine->shape.dims}].mine.push_back(mine);
    }
    for (Holder* golden : meeting_.waiting(Side::golden))
      if (golden->is_one()) left[{scope_of(golden->form), golden->shape.dims}].golden.push_back(golden);
    for (const auto& [place, tie] : left) {
      if (tie.mine.size() != 1 || tie.golden.size() != 1) continue;
      meeting_.decide(
          {Side::mine, {tie.mine[0]}, tie.golden[0]}, 0,
          {.why = Why::like_neighbours,
           .note = "unsure: the only ones of their shape that are left where others belong together",
           .by_data = false,
           .doubts = {true}});
    }
  }

  Meeting& meeting_;
  Effort& effort_;
  std::vector<Tie> equals_;
  int64_t left_to_spend_ = 400'000'000;  // comparisons of sketches: some seconds
  bool was_cut_short_ = false;
};

}  // namespace

Result<bool> meet_by_content(Meeting& meeting, Effort& effort) { return ByContent(meeting, effort).run(); }

}  // namespace assay
