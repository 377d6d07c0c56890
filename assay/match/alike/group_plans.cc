#include "assay/match/alike/group_plans.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

enum class Relation : uint8_t {
  none,
  one_to_one,       // or copies of either
  shares_of_one,    // the ranks of the only part hold shares of the whole
  parts_of_one,     // several parts fill the whole
  parts_of_shares,  // … of which every rank holds a share
  rank_by_rank,     // both are shared out over as many ranks
};

Relation relation_of(const PartGroup& group) {
  const Holder& whole = *group.whole;
  const bool are_one = std::ranges::all_of(group.parts, &Holder::is_one);
  const bool as_many = std::ranges::all_of(
      group.parts, [&](const Holder* part) { return !part->is_one() && part->sources() == whole.sources(); });
  if (are_one && whole.is_one())
    return group.parts.size() == 1 ? Relation::one_to_one : Relation::parts_of_one;
  if (are_one) return group.parts.size() == 1 ? Relation::none : Relation::parts_of_shares;
  if (whole.is_one()) return group.parts.size() == 1 ? Relation::shares_of_one : Relation::none;
  return as_many ? Relation::rank_by_rank : Relation::none;
}

void add_part(const PairingBuilder& builder, Side side, const Holder& part, size_t source, GroupOnRank& out) {
  out.parts.push_back({side, builder.items(side)[part.positions[source]]});
  out.part_positions.push_back(part.positions[source]);
  out.counts.push_back(part.shape().count());
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
    PlanStep view{PlanOp::view, {operand}, {piece.base}};
    view.args.insert(view.args.end(), piece.dims.begin(), piece.dims.end());
    view.args.insert(view.args.end(), piece.strides.begin(), piece.strides.end());
    plan.steps.push_back(std::move(view));
    joined.in.push_back(plan.last());
  }
  if (arrangement.pieces.size() > 1) plan.steps.push_back(std::move(joined));
  plan.add(PlanOp::reshape, result.dims);
  return plan;
}

void join_part(PairingBuilder& builder, const GroupOnRank& on_rank, size_t part, const Shape& shape,
               Side parts_side, const Shape& whole_shape, const Arrangement& arrangement, Why why,
               std::string note, bool is_unsure) {
  const Side whole_side = other_side(parts_side);
  PairPlans plans;
  std::vector<size_t> used;
  const bool is_as_it_is = arrangement.text.empty() && same_but_for_ones(shape, whole_shape);
  if (is_as_it_is) {
    used = {0};
  } else {
    plans.of(whole_side) = plan_of(arrangement, on_rank.sources, shape, used);
    const std::string seen = arrangement.text_of(whole_side == Side::mine ? "mine" : "golden");
    note = note.empty() ? seen : seen + "; " + note;
  }
  plans.note = std::move(note);
  plans.is_unsure = is_unsure;
  const size_t of_part = on_rank.part_positions[part], of_whole = on_rank.source_positions[used[0]];
  const size_t mine = parts_side == Side::mine ? of_part : of_whole;
  builder.join(mine, parts_side == Side::mine ? of_whole : of_part, why, std::move(plans));
  for (const size_t source : used)
    if (const size_t position = on_rank.source_positions[source]; !builder.is_joined(whole_side, position))
      builder.cover(whole_side, position, mine);
}

}  // namespace

GroupShapes shapes_of(const PartGroup& group) {
  GroupShapes shapes;
  const auto add = [&](const Holder& holder) {
    shapes.dims.push_back(holder.shape().dims);
    shapes.sources.push_back(holder.is_one() ? 1 : holder.sources());
  };
  for (const Holder* part : group.parts) add(*part);
  add(*group.whole);
  return shapes;
}

std::vector<std::vector<Arrangement>> arrangements_of(const PartGroup& group) {
  std::vector<Shape> shapes;
  for (const Holder* part : group.parts) shapes.push_back(part->shape());
  const Shape& whole = group.whole->shape();
  switch (relation_of(group)) {
    case Relation::none:
      return {};
    case Relation::shares_of_one:
      return partitions(std::vector<Shape>(group.parts[0]->sources(), shapes[0]), whole, 1,
                        PartOrder::as_given);
    case Relation::parts_of_one:
      return partitions(shapes, whole);
    case Relation::parts_of_shares:
      return partitions(shapes, whole, group.whole->sources());
    case Relation::rank_by_rank:
      if (shapes.size() > 1) return partitions(shapes, whole);
      [[fallthrough]];
    case Relation::one_to_one: {
      std::vector<std::vector<Arrangement>> all;
      for (Arrangement& each : rearrangements(shapes[0], whole)) all.push_back({std::move(each)});
      return all;
    }
  }
  return {};
}

std::vector<GroupOnRank> on_ranks(const PairingBuilder& builder, const PartGroup& group) {
  const Side whole_side = other_side(group.parts_side);
  const Relation relation = relation_of(group);
  std::vector<GroupOnRank> found;
  if (relation == Relation::none) return found;
  const size_t ranks = relation == Relation::rank_by_rank ? group.whole->sources() : 1;
  for (size_t rank = 0; rank < ranks; ++rank) {
    GroupOnRank& one = found.emplace_back();
    for (const Holder* part : group.parts) {
      const size_t shares = relation == Relation::shares_of_one ? part->sources() : 1;
      for (size_t i = 0; i < shares; ++i) add_part(builder, group.parts_side, *part, rank + i, one);
    }
    const size_t sources = relation == Relation::parts_of_shares ? group.whole->sources() : 1;
    for (size_t i = 0; i < sources; ++i) add_source(builder, whole_side, *group.whole, rank + i, one);
  }
  // Copies on other ranks have rows of their own.
  if (relation == Relation::one_to_one) {
    for (size_t i = 1; i < group.parts[0]->sources(); ++i) {
      GroupOnRank& copy = found.emplace_back();
      add_part(builder, group.parts_side, *group.parts[0], i, copy);
      add_source(builder, whole_side, *group.whole, std::min(i, group.whole->sources() - 1), copy);
    }
    for (size_t i = group.parts[0]->sources(); i < group.whole->sources(); ++i) {
      GroupOnRank& copy = found.emplace_back();
      add_part(builder, group.parts_side, *group.parts[0], 0, copy);
      add_source(builder, whole_side, *group.whole, i, copy);
    }
  }
  return found;
}

void join_group(PairingBuilder& builder, const PartGroup& group, const std::vector<Arrangement>& arrangement,
                Why why, const std::string& note, bool is_unsure) {
  const bool are_shares = group.parts.size() == 1 && arrangement.size() > 1;
  for (const GroupOnRank& rank : on_ranks(builder, group))
    for (size_t part = 0; part < rank.parts.size(); ++part)
      join_part(builder, rank, part, group.parts[are_shares ? 0 : part]->shape(), group.parts_side,
                group.whole->shape(), arrangement[part], why, note, is_unsure);
}

}  // namespace assay
