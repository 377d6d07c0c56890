#include "assay/match/alike/meeting.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

// Ranks that hold all of a tensor, though not all the same: one of them is wrong. They are copies only where
// they meet the other side: of a guess that comes to nothing they may be the shares of another tensor.
class TakenForCopies {
 public:
  explicit TakenForCopies(const PartGroup& group) {
    if (group.parts.size() != 1) return;
    for (Holder* holder : {group.parts[0], group.whole}) {
      const Holder& other = holder == group.whole ? *group.parts[0] : *group.whole;
      if (holder->is_one() || !other.is_one() || holder->shape != other.shape) continue;
      taken_ = holder;
      sums_ = holder->sums;
      holder->is_copied = true;
      holder->sums =
          holder->sketches.empty() ? ContentSums{holder->shape.count()} : holder->sketches[0]->sums;
      return;
    }
  }
  TakenForCopies(const TakenForCopies&) = delete;
  TakenForCopies& operator=(const TakenForCopies&) = delete;
  ~TakenForCopies() {
    if (taken_ == nullptr || taken_->is_joined) return;
    taken_->is_copied = false;
    taken_->sums = sums_;
  }

 private:
  Holder* taken_ = nullptr;
  ContentSums sums_;
};

}  // namespace

std::vector<Holder*> Meeting::waiting(Side side) {
  std::vector<Holder*> found;
  for (Holder& holder : holders_.on(side))
    if (!holder.is_joined) found.push_back(&holder);
  return found;
}

const Meeting::Arrangements& Meeting::arrangements(const PartGroup& group) {
  const auto [found, is_new] = known_arrangements_.try_emplace(shapes_of(group));
  if (is_new) found->second = arrangements_of(group);
  return found->second;
}

// The arrangement that the data show; of a kind that was seen, that one is tried first.
std::optional<Solved> Meeting::solve(const PartGroup& group, PartsThatFit wanted, bool by_name) {
  const Arrangements& candidates = arrangements(group);
  const std::vector<GroupOnRank> ranks = on_ranks(builder_, group);
  if (candidates.empty() || ranks.empty()) return std::nullopt;
  const GroupOnRank& first = ranks[0];
  if (const auto known = kinds_.arrangement(group); known && *known < candidates.size())
    if (solver_.is_likely(first.parts, first.sources, candidates[*known], by_name)) return Solved{*known, 0};
  return solver_.solve(first.parts, first.sources, candidates, wanted);
}

std::vector<Arrangement> Meeting::turn_misfits(const PartGroup& group, Solved& solved) {
  std::vector<Arrangement> layout = arrangements(group)[solved.which];
  const GroupOnRank first = on_ranks(builder_, group)[0];
  const size_t shares = layout.size() / group.parts.size();
  std::erase_if(solved.misfits, [&](size_t part) {
    const Shape& shape = group.parts[part / shares]->shape;
    std::vector<std::vector<Arrangement>> candidates;
    for (const Arrangement& each : rearrangements(shape, shape)) {
      if (each.text.empty() || each.pieces.size() != 1) continue;
      candidates.push_back({turned(layout[part], each)});
    }
    const auto found = solver_.solve({&first.parts[part], 1}, first.sources, candidates);
    if (!found || found->rivals > 0) return false;
    layout[part] = std::move(candidates[found->which][0]);
    return true;
  });
  return layout;
}

bool Meeting::meet(const PartGroup& group, Why why, const std::string& note, PartsThatFit wanted,
                   const Doubts& doubts) {
  auto solved = solve(group, wanted, why != Why::same_content);
  if (!solved) return false;
  const bool are_turned = !solved->misfits.empty();
  if (are_turned) {
    turned_.push_back(turn_misfits(group, *solved));
    if (solved->misfits.empty()) solved->rivals = 0;  // which fitted some of the parts
  }
  const std::vector<Arrangement>& layout = are_turned ? turned_.back() : arrangements(group)[solved->which];
  const bool is_as_it_is = layout.size() == 1 && layout[0].text.empty();
  Decision decision{.why = why, .note = note, .doubts = doubts};
  const auto add = [&](const std::string& text) {
    decision.note += (decision.note.empty() ? "" : "; ") + text;
  };
  if (solved->rivals > 0 && !is_as_it_is && !kinds_.arrangement(group)) {
    decision.doubts.is_unsure = true;
    add(fmt::format("unsure: {} other ways to lay it out fit as well", solved->rivals));
  } else if (!solved->misfits.empty()) {
    decision.doubts.is_unsure = true;
    add(fmt::format("unsure: {} of {} parts fit, and the others have what these leave",
                    layout.size() - solved->misfits.size(), layout.size()));
  } else if (why == Why::same_content && group.whole->sums.is_constant()) {
    decision.doubts.is_unsure = true;
    add("unsure: one number throughout, which may be equal by chance");
  } else if (!are_turned && !solved->is_constant) {
    kinds_.learn(group, solved->which);
  }
  decision.shows_layout = !solved->is_constant;
  decision.layout = &layout;
  decide_as_they_stand(group, std::move(decision));
  return true;
}

void Meeting::decide(const PartGroup& group, size_t arrangement, Decision decision) {
  decision.layout = &arrangements(group)[arrangement];
  decide_as_they_stand(group, std::move(decision));
}

void Meeting::decide_as_they_stand(const PartGroup& group, Decision decision) {
  decision.group = group;
  for (Holder* part : group.parts) part->is_joined = true;
  group.whole->is_joined = true;
  decisions_.push_back(std::move(decision));
}

void Meeting::meet_like_neighbours(Why why) {
  for (const auto& [group, arrangement] : kinds_.predict(holders_)) {
    if (cancelled()) return;  // match_names ends with the error
    if (!is_still_waiting(group)) continue;
    const TakenForCopies copies(group);
    const Arrangements& candidates = arrangements(group);
    if (arrangement >= candidates.size()) continue;
    const bool by_data = why == Why::same_content;
    if (by_data) {
      const std::vector<GroupOnRank> ranks = on_ranks(builder_, group);
      if (ranks.empty() || ranks[0].parts[0].count < kElementsThatTell ||
          !solver_.is_likely(ranks[0].parts, ranks[0].sources, candidates[arrangement]))
        continue;
    }
    decide(group, arrangement, {.why = why, .by_data = by_data});
  }
}

void Meeting::join_all() {
  find_doubts(*this);
  for (const Decision& decision : decisions_) {
    if (decision.layout != nullptr) {
      join_group(builder_, decision.group, *decision.layout, decision.why, decision.note, decision.doubts,
                 &known_shares_);
      continue;
    }
    const bool is_mine = decision.group.parts_side == Side::mine;
    const std::vector<size_t>& wholes = decision.group.whole->positions;
    const std::vector<size_t>& parts = decision.group.parts[0]->positions;
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t whole = wholes[std::min(i, wholes.size() - 1)];
      PairPlans plans;
      plans.note = decision.note;
      plans.contradiction = decision.doubts.contradiction;
      builder_.join(is_mine ? parts[i] : whole, is_mine ? whole : parts[i], decision.why, std::move(plans));
    }
  }
}

bool is_still_waiting(const PartGroup& group) {
  return !group.whole->is_joined && std::ranges::none_of(group.parts, &Holder::is_joined);
}

PartGroup group_of(Holder& mine, Holder& golden) {
  const auto total = [](const Holder& holder) {
    return holder.shape.count() * static_cast<int64_t>(holder.shares());
  };
  const bool mine_is_whole =
      total(mine) != total(golden) ? total(mine) > total(golden) : mine.shares() < golden.shares();
  if (mine_is_whole) return {Side::golden, {&golden}, &mine};
  return {Side::mine, {&mine}, &golden};
}

bool is_in_order(const PartGroup& group, const std::vector<Arrangement>& layout) {
  const size_t shares = layout.size() / group.parts.size();
  for (size_t part = 1; part < group.parts.size(); ++part) {
    const auto before = layout[(part - 1) * shares].place(0), here = layout[part * shares].place(0);
    if (std::pair(before.source, before.index) > std::pair(here.source, here.index)) return false;
  }
  return true;
}

}  // namespace assay
