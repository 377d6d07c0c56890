#include "assay/match/alike/group_plans.h"

#include "assay/match/alike/crossed_shares.h"
#include "assay/match/alike/rank_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace assay {
namespace {

// How the ranks of a group stand against each other: in `blocks` that have nothing to do with each other,
// each of so many shares of every part and so many of the whole. One of the last two is 1, unless both sides
// are joined.
struct Ranks {
  size_t blocks = 1, part_shares = 1, whole_shares = 1;
};

std::optional<Ranks> ranks_of(const PartGroup& group) {
  const size_t of_parts = group.parts[0]->shares(), of_whole = group.whole->shares();
  if (std::ranges::any_of(group.parts, [&](const Holder* part) { return part->shares() != of_parts; }))
    return std::nullopt;
  if (group.joins_both) return Ranks{1, of_parts, of_whole};
  if (of_parts % of_whole == 0) return Ranks{of_whole, of_parts / of_whole, 1};
  if (of_whole % of_parts == 0) return Ranks{of_parts, 1, of_whole / of_parts};
  return std::nullopt;
}

// Copies of which each has rows of its own.
size_t copies_in(const PartGroup& group) {
  size_t copies = group.whole->is_copied ? group.whole->sources() : 1;
  for (const Holder* part : group.parts)
    if (part->is_copied) copies = std::max(copies, part->sources());
  return copies;
}

// What of each part is compared: all of it, or the share of the one rank of the whole that is there.
struct Share {
  int64_t which = 0, of = 1;
};

Share share_of(const PartGroup& group, const Holder& part) {
  if (group.whole_of_ranks == 0) return {};
  const auto shares = static_cast<int64_t>(shares_of_part(group, part));
  return {group.whole->ranks[0] * shares / static_cast<int64_t>(group.whole_of_ranks), shares};
}

// … divided along its rows, as ranks do.
Shape shape_of(const PartGroup& group, const Holder& part) {
  Shape shape = part.shape;
  if (const Share share = share_of(group, part); share.of > 1) shape.dims[0] /= share.of;
  return shape;
}

bool are_ranks_missing(const PartGroup& group) {
  return group.of_ranks > 0 || group.whole->other_ranks.size() < group.whole_of_ranks;
}

void add_part(const PairingBuilder& builder, Side side, const Holder& part, size_t source, const Share& share,
              GroupOnRank& out) {
  const int64_t count = part.shape.count() / share.of;
  out.parts.push_back({{side, builder.items(side)[part.positions[source]]}, count, share.which * count});
  out.part_positions.push_back(part.positions[source]);
}

void add_source(const PairingBuilder& builder, Side side, const Holder& whole, size_t source,
                GroupOnRank& out) {
  out.sources.push_back({side, builder.items(side)[whole.positions[source]]});
  out.source_positions.push_back(whole.positions[source]);
}

Plan plan_of(const Arrangement& arrangement, const std::vector<PlanSource>& sources, const Shape& result,
             std::vector<size_t>& used) {
  Plan plan;
  for (const Piece& piece : arrangement.pieces)
    if (std::ranges::find(used, piece.source) == used.end()) {
      used.push_back(piece.source);
      plan.from.push_back(sources[piece.source]);
    }
  PlanStep joined{PlanOp::concat, {}};
  for (const Piece& piece : arrangement.pieces) {
    const auto operand = static_cast<int32_t>(std::ranges::find(used, piece.source) - used.begin());
    plan.steps.push_back(view_of(piece, operand));
    joined.in.push_back(plan.last());
  }
  if (arrangement.pieces.size() > 1) plan.steps.push_back(std::move(joined));
  if (const auto& window = arrangement.window) {
    plan.add(PlanOp::reshape, window->of);
    if (window->is_padded) plan.add(PlanOp::unpad, window->count);
    for (size_t i = 0; i < window->of.size() && !window->is_padded; ++i)
      if (window->count[i] != window->of[i])
        plan.add(PlanOp::cut, {static_cast<int64_t>(i), window->first[i], window->count[i]});
  }
  if (arrangement.order) plan.steps.push_back(view_of(*arrangement.order, plan.last()));
  plan.add(PlanOp::reshape, result.dims);
  return plan;
}

// How a row calls the whole: with the part of it that is meant.
std::string name_of_view(const Arrangement& arrangement, const std::vector<std::string_view>& names) {
  return name_of_ranks(names) + part_in(arrangement.text);
}

void join_part(PairingBuilder& builder, const GroupOnRank& on_rank, size_t part, const Shape& shape,
               const Share& share, Side parts_side, const Shape& whole_shape, const Arrangement& arrangement,
               Why why, PairPlans plans) {
  const Side whole_side = other_side(parts_side);
  std::vector<size_t> used;
  const bool is_as_it_is = arrangement.text.empty() && same_but_for_ones(shape, whole_shape);
  if (is_as_it_is) {
    used = {0};
  } else {
    plans.of(whole_side) = plan_of(arrangement, on_rank.sources, shape, used);
    const std::string seen = arrangement.text_of(whole_side == Side::mine ? "mine" : "golden");
    plans.note = plans.note.empty() ? seen : seen + "; " + plans.note;
    std::vector<std::string_view> names;
    for (const size_t source : used)
      names.push_back(builder.name(whole_side, on_rank.source_positions[source]));
    plans.of(whole_side).name = name_of_view(arrangement, names);
  }
  if (share.of > 1) {
    const int64_t first = share.which * shape.dims[0];
    Plan& plan = plans.of(parts_side);
    plan = as_it_stands(parts_side, on_rank.parts[part].from.item);
    plan.add(PlanOp::cut, {0, first, shape.dims[0]});
    plan.name = fmt::format("{}[{}:{}]", builder.name(parts_side, on_rank.part_positions[part]), first,
                            first + shape.dims[0]);
  }
  const size_t of_part = on_rank.part_positions[part], of_whole = on_rank.source_positions[used[0]];
  const size_t mine = parts_side == Side::mine ? of_part : of_whole;
  builder.join(mine, parts_side == Side::mine ? of_whole : of_part, why, std::move(plans));
  for (const size_t source : used)
    if (const size_t position = on_rank.source_positions[source]; !builder.is_joined(whole_side, position))
      builder.cover(whole_side, position, mine);
}

// Shares of what is fused group by group, where the whole has its parts behind each other: every rank has
// groups of its own.
void add_shares_of_groups(const Shape& share, const Shape& whole, size_t ranks,
                          std::vector<std::vector<Arrangement>>& all) {
  if (share.dims.empty() || share.count() * static_cast<int64_t>(ranks) != whole.count()) return;
  Shape joined = share;
  joined.dims[0] *= static_cast<int64_t>(ranks);
  for (const Arrangement& each : rearrangements(joined, whole)) {
    if (!each.is_regrouped || each.order || each.pieces.size() % ranks != 0) continue;
    std::vector<Arrangement> shares;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const auto first = static_cast<ptrdiff_t>(rank * each.pieces.size() / ranks);
      Arrangement& own = shares.emplace_back();
      own.pieces.assign(each.pieces.begin() + first,
                        each.pieces.begin() + first + static_cast<ptrdiff_t>(each.pieces.size() / ranks));
      own.text = fmt::format("{}, share {} of {}", each.text, rank + 1, ranks);
      own.is_regrouped = true;
    }
    const auto is_share = [&](const Arrangement& own) {
      int64_t count = 0;
      for (const Piece& piece : own.pieces) count += piece.count();
      return count == share.count();
    };
    if (std::ranges::all_of(shares, is_share)) all.push_back(std::move(shares));
  }
}

// Shares of ranks, also with their rotary pairs in another order: one system has both, another neither.
std::vector<std::vector<Arrangement>> shares_of_one(const Shape& share, const Shape& whole, size_t ranks) {
  auto all = partitions(std::vector<Shape>(ranks, share), whole, 1, PartOrder::as_given);
  const size_t straight = all.size();
  for (const Arrangement& order : rearrangements(share, share)) {
    if (order.rotary == 0) continue;
    for (size_t i = 0; i < straight; ++i) {
      std::vector<Arrangement>& shares = all.emplace_back();
      for (size_t rank = 0; rank < ranks; ++rank) shares.push_back(turned(all[i][rank], order));
    }
  }
  add_shares_of_groups(share, whole, ranks, all);
  return all;
}

// Of the arrangements of all shares, those of the ranks that are there.
std::vector<Arrangement> those_there(const std::vector<Arrangement>& shares, const PartGroup& group) {
  std::vector<Arrangement> there;
  for (size_t part = 0; part < group.parts.size(); ++part)
    for (size_t source = 0; source < group.parts[part]->sources(); ++source)
      there.push_back(shares[part * group.of_shares + share_on(group, source)]);
  return there;
}

// Of the one rank that is there: its share of every part.
std::vector<std::vector<Arrangement>> partitions_on_one_rank(const PartGroup& group) {
  std::vector<Shape> shares;
  for (const Holder* part : group.parts) {
    if (part->shape.dims.empty() || part->shape.dims[0] % share_of(group, *part).of != 0) return {};
    shares.push_back(shape_of(group, *part));
  }
  return partitions(shares, group.whole->shape);
}

}  // namespace

PlanStep view_of(const Piece& piece, int32_t operand) {
  PlanStep view{PlanOp::view, {operand}, {piece.base}};
  view.args.insert(view.args.end(), piece.dims.begin(), piece.dims.end());
  view.args.insert(view.args.end(), piece.strides.begin(), piece.strides.end());
  return view;
}

std::string name_of_ranks(const std::vector<std::string_view>& names) {
  if (names.size() == 1) return std::string(names[0]);
  const std::string_view first = names[0];
  size_t front = first.size(), back = first.size();
  for (const std::string_view name : std::span(names).subspan(1)) {
    const auto begin = std::ranges::mismatch(first.substr(0, front), name).in1 - first.begin();
    front = static_cast<size_t>(begin);
    size_t end = 0;
    while (end < back && end < name.size() && name[name.size() - 1 - end] == first[first.size() - 1 - end])
      ++end;
    back = end;
  }
  for (const std::string_view name : names) back = std::min(back, name.size() - front);
  // Numbers stay whole.
  const auto is_number = [&](size_t at) { return first[at] >= '0' && first[at] <= '9'; };
  while (front > 0 && is_number(front - 1)) --front;
  while (back > 0 && is_number(first.size() - back)) --back;
  std::vector<std::string_view> middles;
  for (const std::string_view name : names) middles.push_back(name.substr(front, name.size() - front - back));
  return fmt::format("{}{{{}}}{}", first.substr(0, front), fmt::join(middles, ","),
                     first.substr(first.size() - back));
}

std::string part_in(const std::string& text) {
  const size_t opening = text.find('[');
  size_t end = opening;
  while (end < text.size() && text[end] == '[') end = std::min(text.find(']', end), text.size() - 1) + 1;
  return end > opening ? text.substr(opening, end - opening) : std::string();
}

Arrangement turned(const Arrangement& seen, const Arrangement& order) {
  Arrangement both = seen;
  both.order = order.pieces[0];
  both.rotary = order.rotary;
  both.text += order.text.substr(std::string_view("{}").size());
  return both;
}

GroupShapes shapes_of(const PartGroup& group) {
  GroupShapes shapes;
  const auto add = [&](const Holder& holder) {
    shapes.dims.push_back(holder.shape.dims);
    shapes.shares.push_back(holder.shares());
  };
  for (const Holder* part : group.parts) add(*part);
  add(*group.whole);
  for (size_t source = 0; group.of_shares > 0 && source < group.parts[0]->sources(); ++source)
    shapes.there.push_back(static_cast<int64_t>(share_on(group, source)));
  if (group.whole_of_ranks > 0) shapes.there = group.whole->ranks;
  shapes.of_shares = group.of_shares;
  shapes.whole_of_ranks = group.whole_of_ranks;
  shapes.key_shares = group.key_shares;
  shapes.joins_both = group.joins_both;
  return shapes;
}

std::vector<std::vector<Arrangement>> arrangements_of(const PartGroup& group) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  std::vector<Shape> shapes;
  for (const Holder* part : group.parts) shapes.push_back(part->shape);
  const Shape& whole = group.whole->shape;
  const auto ranks = ranks_of(group);
  if (!ranks || group.whole->sums.count > kMostElements ||
      std::ranges::any_of(group.parts, [](const Holder* part) { return part->sums.count > kMostElements; }))
    return {};
  const bool is_single = shapes.size() == 1;
  if (group.joins_both) return crossed_shares(shapes[0], ranks->part_shares, whole, ranks->whole_shares);
  if (group.whole_of_ranks > 0) return partitions_on_one_rank(group);
  if (group.of_shares > 0) {
    auto all = is_single ? shares_of_one(shapes[0], whole, group.of_shares)
                         : shared_partitions(shapes, whole, group.of_shares);
    for (std::vector<Arrangement>& shares : all) shares = those_there(shares, group);
    return all;
  }
  if (ranks->part_shares > 1 && is_single) return shares_of_one(shapes[0], whole, ranks->part_shares);
  if (ranks->part_shares > 1) return shared_partitions(shapes, whole, ranks->part_shares);
  if (!is_single) return partitions(shapes, whole, ranks->whole_shares);
  std::vector<std::vector<Arrangement>> all;
  const bool is_spread = ranks->whole_shares > 1;  // a part of ranks together: shorter than they are
  for (Arrangement& each :
       is_spread ? without_padding(shapes[0], whole, ranks->whole_shares) : rearrangements(shapes[0], whole))
    all.push_back({std::move(each)});
  return all;
}

std::vector<GroupOnRank> on_ranks(const PairingBuilder& builder, const PartGroup& group) {
  const Side whole_side = other_side(group.parts_side);
  const auto ranks = ranks_of(group);
  std::vector<GroupOnRank> found;
  if (!ranks) return found;
  const size_t copies = copies_in(group);
  for (size_t copy = 0; copy < copies; ++copy)
    for (size_t block = 0; block < ranks->blocks; ++block) {
      GroupOnRank& one = found.emplace_back();
      const auto source_of = [&](const Holder& holder, size_t shares, size_t i) {
        // Of more ranks than the other side has, neighbours stand against one: they may hold copies of a
        // share.
        return holder.is_copied ? copy * holder.sources() / copies : block * shares + i;
      };
      for (const Holder* part : group.parts)
        for (size_t i = 0; i < ranks->part_shares; ++i)
          add_part(builder, group.parts_side, *part, source_of(*part, ranks->part_shares, i),
                   share_of(group, *part), one);
      for (size_t i = 0; i < ranks->whole_shares; ++i)
        add_source(builder, whole_side, *group.whole, source_of(*group.whole, ranks->whole_shares, i), one);
      const Holder& part = *group.parts[0];
      if (ranks->part_shares == 1 && ranks->whole_shares == 1 && !part.is_copied && !group.whole->is_copied) {
        one.part_rank = part.ranks[block];
        one.whole_rank = group.whole->ranks[block];
      }
    }
  return found;
}

void join_group(PairingBuilder& builder, const PartGroup& group, const std::vector<Arrangement>& arrangement,
                Why why, const std::string& note, const Doubts& doubts, KnownShares* known) {
  KnownShares none;
  if (join_in_one_row(builder, group, arrangement, why, note, doubts, known != nullptr ? *known : none))
    return;
  for (const GroupOnRank& rank : on_ranks(builder, group)) {
    const size_t shares = rank.parts.size() / group.parts.size();
    for (size_t part = 0; part < rank.parts.size(); ++part) {
      const Holder& holder = *group.parts[part / shares];
      const Share share = share_of(group, holder);
      const size_t of_ranks = are_ranks_missing(group) ? std::max(group.of_ranks, group.whole_of_ranks) : 0;
      PairPlans plans;
      plans.note = note;
      plans.is_unsure = doubts.is_unsure;
      plans.is_one_rank = of_ranks > 0;
      plans.contradiction = doubts.contradiction;
      plans.lacks = doubts.lacks;
      plans.is_other_rank = rank.are_of_other_ranks();
      const auto add = [&](const std::string& text) {
        plans.note += (plans.note.empty() ? "" : "; ") + text;
      };
      if (group.of_shares > 0)
        if (const size_t copies = (of_ranks > 0 ? of_ranks : holder.sources()) / group.of_shares; copies > 1)
          add(fmt::format("each share on {} ranks", copies));
      if (of_ranks > 0)
        add(fmt::format("only rank {} of {}",
                        (group.of_ranks > 0 ? holder.ranks[part % shares] : group.whole->ranks[0]),
                        of_ranks));
      if (plans.is_other_rank)
        add(other_ranks_note(group.parts_side == Side::mine ? rank.part_rank : rank.whole_rank,
                             group.parts_side == Side::mine ? rank.whole_rank : rank.part_rank));
      if (group.whole_of_ranks > 0 && static_cast<size_t>(share.of) < group.whole_of_ranks)
        add(fmt::format("each share on {} ranks", group.whole_of_ranks / static_cast<size_t>(share.of)));
      join_part(builder, rank, part, shape_of(group, holder), share, group.parts_side, group.whole->shape,
                arrangement[part], why, std::move(plans));
    }
  }
}

}  // namespace assay
