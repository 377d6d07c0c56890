#include "assay/match/alike/meet.h"

#include "assay/match/alike/flat_shards.h"
#include "assay/match/alike/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace assay {

bool join_alike_names(PairingBuilder& builder, const Contents* contents) {
  struct Bearers {
    std::vector<size_t> positions[2];
    int64_t rank[2] = {-1, -1};

    bool has_rank(size_t side) const { return rank[side] >= 0; }
  };
  bool left_any = false;
  std::unordered_map<std::string_view, Bearers> by_name;
  std::vector<const Bearers*> in_order;
  for (const Side side : {Side::mine, Side::golden})
    for (const auto& [position, form] : unjoined_forms(builder, side)) {
      const auto [found, is_new] = by_name.try_emplace(form->plain);
      if (is_new) in_order.push_back(&found->second);
      found->second.positions[static_cast<size_t>(side)].push_back(position);
      int64_t& rank = found->second.rank[static_cast<size_t>(side)];
      rank = std::max(rank, form->rank);
    }
  for (const Bearers* bearers : in_order) {
    if (bearers->positions[0].size() != 1 || bearers->positions[1].size() != 1) continue;
    const size_t mine = bearers->positions[0][0], golden = bearers->positions[1][0];
    if (contents != nullptr && bearers->has_rank(0) != bearers->has_rank(1) &&
        !are_of_one_size(builder, mine, golden, *contents)) {
      left_any = true;
      continue;
    }
    PairPlans plans;
    const std::string_view of_mine = builder.name_as_read(Side::mine, mine),
                           of_golden = builder.name_as_read(Side::golden, golden);
    const bool is_renamed =
        of_mine != builder.name(Side::mine, mine) || of_golden != builder.name(Side::golden, golden);
    plans.note =
        fmt::format("{}same but for {}", is_renamed ? "as renamed, " : "", difference_of(of_mine, of_golden));
    if (bearers->has_rank(0) && bearers->has_rank(1) && bearers->rank[0] != bearers->rank[1]) {
      plans.is_other_rank = true;
      plans.note += "; " + other_ranks_note(bearers->rank[0], bearers->rank[1]);
    }
    builder.join(mine, golden, Why::alike_name, std::move(plans));
  }
  return left_any;
}

namespace {

bool waits_on_both_sides(const PairingBuilder& builder) {
  const auto waits = [&](Side side) {
    for (size_t i = 0; i < builder.size(side); ++i)
      if (is_waiting(builder, side, i)) return true;
    return false;
  };
  return waits(Side::mine) && waits(Side::golden);
}

}  // namespace

void join_known_names(PairingBuilder& builder, const Contents& contents) {
  if (!waits_on_both_sides(builder)) return;
  join_flat_shards(builder, contents);
  if (!waits_on_both_sides(builder)) return;
  Holders holders = collect_named_holders(builder, contents);
  Meeting meeting(builder, contents, holders);
  meet_known(meeting);
  meeting.join_all();
}

Result<void> join_by_content(PairingBuilder& builder, const Contents& contents, Effort& effort,
                             Remarks& remarks) {
  if (!waits_on_both_sides(builder)) return {};
  ASSAY_TRY(Holders holders, collect_holders(builder, contents));
  Meeting meeting(builder, contents, holders);
  ASSAY_TRY(const bool is_complete, meet_by_content(meeting, effort));
  if (effort.is_spent()) return {};
  if (!is_complete)
    remarks.push_back(
        std::string("too many tensors have names that do not meet, so that not all were held against all "
                    "others; --rename tells how the names of mine read in golden"));
  meeting.join_all();
  return {};
}

}  // namespace assay
