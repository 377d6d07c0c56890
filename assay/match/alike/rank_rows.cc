#include "assay/match/alike/rank_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

bool is_of_one_piece(const Arrangement& seen) {
  return seen.pieces.size() == 1 && !seen.window && !seen.order;
}

// "rank 0..3", "rank 0,2"
std::string text_of(const std::vector<int64_t>& ranks) {
  const bool are_in_turn = ranks.back() - ranks.front() == std::ssize(ranks) - 1;
  return are_in_turn ? fmt::format("rank {}..{}", ranks.front(), ranks.back())
                     : fmt::format("rank {}", fmt::join(ranks, ","));
}

// The dimension along which the shares stand behind each other in the whole; nothing: they lie otherwise.
std::optional<size_t> axis_of(const std::vector<Arrangement>& arrangement, const Shape& share,
                              const Shape& whole) {
  const size_t dims = whole.dims.size();
  if (share.dims.size() != dims) return std::nullopt;
  std::vector<int64_t> strides(dims, 1);
  for (size_t i = dims; i-- > 1;) strides[i - 1] = strides[i] * whole.dims[i];
  const auto axis =
      static_cast<size_t>(std::ranges::mismatch(share.dims, whole.dims).in1 - share.dims.begin());
  if (axis == dims) return std::nullopt;
  const int64_t last = share.count() - 1;
  for (size_t i = 0; i < arrangement.size(); ++i) {
    const Piece& piece = arrangement[i].pieces[0];
    int64_t end = 0;
    for (size_t d = 0; d < dims; ++d) end += (share.dims[d] - 1) * strides[d];
    const int64_t first = static_cast<int64_t>(i) * share.dims[axis] * strides[axis];
    if (piece.place(0) != first || piece.place(last) != first + end || piece.strides.back() != strides.back())
      return std::nullopt;
  }
  return axis;
}

std::vector<RankShare> shares_of(const std::vector<Arrangement>& arrangement, Side seen, const Shape& shown) {
  std::vector<RankShare> shares;
  for (const Arrangement& each : arrangement) {
    RankShare& share = shares.emplace_back();
    if (each.text.empty()) continue;
    share.steps = {view_of(each.pieces[0], 0), {PlanOp::reshape, {1}, shown.dims}};
    share.seen = each.text_of(name_of(seen));
    share.part = part_in(each.text);
  }
  return shares;
}

}  // namespace

bool join_in_one_row(PairingBuilder& builder, const PartGroup& group,
                     const std::vector<Arrangement>& arrangement, Why why, const std::string& note,
                     const Doubts& doubts, KnownShares& known) {
  const Holder &part = *group.parts[0], &whole = *group.whole;
  const bool are_copies = part.is_copied || whole.is_copied;
  const Holder& on_ranks = part.sources() > 1 ? part : whole;
  const bool may_be = group.parts.size() == 1 && group.of_shares == 0 && group.of_ranks == 0 &&
                      group.whole_of_ranks == 0 && !group.joins_both && part.sources() != whole.sources() &&
                      std::min(part.sources(), whole.sources()) == 1 && !doubts.is_unsure &&
                      doubts.contradiction.empty() && doubts.lacks.empty() &&
                      (are_copies ? on_ranks.is_copied && arrangement.size() == 1
                                  : &on_ranks == &part && arrangement.size() == part.sources()) &&
                      std::ranges::all_of(arrangement, is_of_one_piece);
  if (!may_be) return false;
  const Holder& single = &on_ranks == &part ? whole : part;
  auto together = std::make_shared<RankShares>();
  together->side = &on_ranks == &part ? group.parts_side : other_side(group.parts_side);
  together->seen = other_side(group.parts_side);
  together->are_copies = are_copies;
  for (const size_t position : on_ranks.positions)
    together->items.push_back(builder.items(together->side)[position]);
  together->ranks = on_ranks.ranks;
  const auto [found, is_new] = known.try_emplace({&arrangement, together->seen});
  SharesOfTensor& lie = found->second;
  if (is_new) {
    lie.shares =
        std::make_shared<const std::vector<RankShare>>(shares_of(arrangement, together->seen, part.shape));
    if (!are_copies) lie.dimension = axis_of(arrangement, part.shape, whole.shape);
  }
  together->shares = lie.shares;
  together->note = note;

  PairPlans plans;
  plans.note = note;
  const auto add = [&](const std::string& text) { plans.note += (plans.note.empty() ? "" : "; ") + text; };
  const std::string ranks = fmt::format("{}[{}]", name_of(together->side), text_of(on_ranks.ranks));
  if (are_copies) {
    add(fmt::format("each of {}", ranks));
    if (!together->share(0).seen.empty()) add(together->share(0).seen);
  } else if (lie.dimension) {
    together->dimension = static_cast<int64_t>(*lie.dimension);
    add(fmt::format("cat({}, dim {})", ranks, *lie.dimension));
  } else {
    add(fmt::format("{} are {}, …", ranks, together->share(0).seen));
  }
  std::vector<std::string_view> names;
  for (const size_t position : on_ranks.positions) names.push_back(builder.name(together->side, position));
  plans.of(together->side).name = name_of_ranks(names);
  const bool is_mine = together->side == Side::mine;
  const size_t mine = is_mine ? on_ranks.positions[0] : single.positions[0];
  const Side side = together->side;
  plans.ranks = std::move(together);
  builder.join(mine, is_mine ? single.positions[0] : on_ranks.positions[0], why, std::move(plans));
  for (size_t i = 1; i < on_ranks.positions.size(); ++i) builder.cover(side, on_ranks.positions[i], mine);
  return true;
}

}  // namespace assay
