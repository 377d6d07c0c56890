#include "assay/run/compare/rank_rows.h"

#include "assay/base/mapping.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

// Where an element of a share stands in the tensor that shows it.
class Places {
 public:
  explicit Places(const std::vector<PlanStep>& steps) {
    if (steps.empty()) return;
    const std::vector<int64_t>& args = steps[0].args;
    const size_t dims = (args.size() - 1) / 2;
    base_ = args[0];
    dims_ = std::span(args).subspan(1, dims);
    strides_ = std::span(args).subspan(1 + dims);
  }

  int64_t of(int64_t index) const {
    if (dims_.empty()) return index;
    int64_t place = base_;
    for (size_t i = dims_.size(); i-- > 0; index /= dims_[i]) place += index % dims_[i] * strides_[i];
    return place;
  }

 private:
  int64_t base_ = 0;
  std::span<const int64_t> dims_, strides_;
};

Result<OperandPtr> seen_as(const OperandPtr& whole, const RankShare& share) {
  if (share.steps.empty()) return whole;
  const std::vector<int64_t>& args = share.steps[0].args;
  const auto dims = static_cast<ptrdiff_t>((args.size() - 1) / 2);
  ASSAY_TRY(OperandPtr view, strided(whole, Shape{{args.begin() + 1, args.begin() + 1 + dims}},
                                     {args.begin() + 1 + dims, args.end()}, args[0]));
  return reshaped(std::move(view), Shape{share.steps[1].args});
}

// The worst element by its place in the whole, with those neighbours that are its neighbours there.
void place_worst(const Places& places, PairSums& sums) {
  if (sums.worst < 0) return;
  Neighbours& near = sums.near;
  const int64_t worst = sums.worst, place = places.of(worst);
  const auto is_beside = [&](int64_t index) { return places.of(index) - place == index - worst; };
  int64_t first = std::clamp(worst, near.first, near.first + near.count), last = first;
  while (first > near.first && is_beside(first - 1)) --first;
  while (last < near.first + near.count && is_beside(last)) ++last;
  const auto from = static_cast<ptrdiff_t>(first - near.first);
  std::rotate(near.mine.begin(), near.mine.begin() + from, near.mine.end());
  std::rotate(near.golden.begin(), near.golden.begin() + from, near.golden.end());
  near.first = place - (worst - first);
  near.count = static_cast<int32_t>(last - first);
  sums.worst = place;
}

// What is cut into columns is read once, not once for each share: their rows lie between each other.
// It lives as long as what `scratch` has.
Result<OperandPtr> held_if_small(const OperandPtr& whole, Scratch& scratch) {
  const int64_t count = whole->meta.shape.count();
  if (count > kBandElements) return whole;
  ASSAY_TRY(const Block all, whole->block(0, count, scratch));
  return dense_in_borrowed_memory(all.bytes(), whole->meta);
}

bool is_exact(const Gathered& gathered) {
  return gathered.pair.equal == gathered.pair.count && gathered.pair.finite == gathered.pair.count;
}

bool is_plain(const Comparison& row) {
  return row.status == Status::compared && row.evidence == Evidence::elements && !row.is_other_type;
}

}  // namespace

std::optional<RankRows::Taken> RankRows::take(Side side, const ItemId& id) {
  const Item& item = matched_.item(side, id);
  const bool is_plain = item.trouble.empty() && item.data && item.meta != nullptr && item.stated == nullptr;
  if (!is_plain || is_complex(item.meta->dtype)) return std::nullopt;
  auto loaded = loader_.load(side, id);
  if (!loaded || loaded->data->meta != *item.meta) return std::nullopt;
  Taken taken;
  taken.data = std::move(loaded->data);
  taken.facts.name = item.name;
  taken.facts.meta = RowMeta(item.meta);
  taken.facts.item = &item;
  taken.facts.op_type = matched_.frames.node(side, id).type;
  taken.facts.within = matched_.frames.node(side, id).within;
  taken.facts.token = matched_.frames.frame(side, id).at.token;
  taken.facts.file = *loader_.file_of(side, id);
  return taken;
}

bool RankRows::all_pass(const PairedNode& node, std::vector<Comparison> rows) const {
  NodeResult judged{node.name,       node.order, node.stack,
                    std::move(rows), node.place, static_cast<int32_t>(&node - matched_.pairing.nodes.data())};
  flow_.judge({&judged, 1});
  return std::ranges::all_of(judged.rows,
                             [](const Comparison& row) { return row.verdict.level == Level::pass; });
}

// What lost pages while it was held is read again, rank by rank, which says what is missing.
std::optional<Comparison> RankRows::put_together(const Pair& pair, const PairedNode& node,
                                                 std::optional<DType> rounded_to, PairScratch& scratch) {
  const int64_t lost_before = lost_pages();
  scratch.held.may_map = true;
  auto together = put_together(pair, node, rounded_to, scratch, scratch.held);
  scratch.held.forget();  // a window on a mapping notices a shorter file when it closes
  if (lost_pages() != lost_before) return std::nullopt;
  return together;
}

std::optional<Comparison> RankRows::put_together(const Pair& pair, const PairedNode& node,
                                                 std::optional<DType> rounded_to, PairScratch& scratch,
                                                 Scratch& for_other) {
  const RankShares& ranks = *pair.ranks();
  const ItemId& of_other = ranks.side == Side::mine ? *pair.golden : *pair.mine;
  std::optional<Taken> other = take(ranks.other(), of_other);
  if (!other) return std::nullopt;
  if (ranks.seen != ranks.side && ranks.dimension != 0) {
    auto held = held_if_small(other->data, for_other);
    if (!held) return std::nullopt;
    other->data = std::move(*held);
  }
  Comparison all;
  all.pair = pair;
  all.judged_as = rounded_to;
  all.is_cut = !ranks.share(0).steps.empty();
  all.is_rearranged = turns_elements(ranks.share(0).steps);
  std::optional<Gathered> sums;
  std::vector<Comparison> uncertain;
  double most = -1;
  for (size_t i = 0; i < ranks.items.size(); ++i) {
    std::optional<Taken> own = take(ranks.side, ranks.items[i]);
    if (!own || own->data->meta.dtype != matched_.item(ranks.side, ranks.items[0]).meta->dtype)
      return std::nullopt;
    auto seen = seen_as((ranks.seen == ranks.side ? own : other)->data, ranks.share(i));
    if (!seen) return std::nullopt;
    const OperandPtr& shown = ranks.seen == ranks.side ? other->data : own->data;
    const bool mine_is_seen = ranks.seen == Side::mine;
    const Operand &mine = mine_is_seen ? **seen : *shown, &golden = mine_is_seen ? *shown : **seen;
    if (mine.meta.shape.count() != golden.meta.shape.count()) return std::nullopt;
    if (i == 0) {
      all.of(ranks.side) = own->facts;
      all.of(ranks.other()) = other->facts;
      if (!rows_.can_put_together(all)) return std::nullopt;
    }
    auto gathered = rows_.sums(mine, golden, rounded_to, scratch);
    if (!gathered || gathered->pair.scale != 0) return std::nullopt;
    Comparison row;
    double error = 0;
    const bool must_be_judged = !is_exact(*gathered);
    if (must_be_judged || (ranks.are_copies && i == 0)) {
      row = all;
      row.of(ranks.side) = own->facts;
      error = rows_.fill(*gathered, rounded_to, row);
      if (row.evidence != Evidence::elements) return std::nullopt;
    }
    if (ranks.are_copies) {
      if (error > most) {
        most = error;
        sums = std::move(*gathered);
      }
    } else {
      place_worst(Places(ranks.share(i).steps), gathered->pair);
      if (sums)
        sums->merge(*gathered);
      else
        sums = std::move(*gathered);
    }
    if (must_be_judged) uncertain.push_back(std::move(row));
  }
  rows_.fill(*sums, rounded_to, all);
  all.of(ranks.side).name = pair.plans->of(ranks.side).name;
  if (!ranks.are_copies)
    all.of(ranks.side).meta = RowMeta(TensorMeta{all.of(ranks.side).meta->dtype, other->data->meta.shape});
  all.add_note(pair.plans->note);
  uncertain.push_back(all);
  if (!all_pass(node, std::move(uncertain))) return std::nullopt;
  return all;
}

Pair RankRows::pair_of(const Pair& pair, size_t rank) const {
  const RankShares& ranks = *pair.ranks();
  const RankShare& share = ranks.share(rank);
  Pair one = pair;
  (ranks.side == Side::mine ? one.mine : one.golden) = ranks.items[rank];
  PairPlans plans;
  plans.note = ranks.note;
  if (!share.steps.empty()) {
    const ItemId& seen = ranks.seen == Side::mine ? *one.mine : *one.golden;
    Plan& plan = plans.of(ranks.seen);
    plan.from = {{ranks.seen, seen}};
    plan.steps = share.steps;
    plan.name = fmt::format("{}{}", matched_.item(ranks.seen, seen).name, share.part);
    plans.note = plans.note.empty() ? share.seen : share.seen + "; " + plans.note;
  }
  one.plans = matched_.pairing.late_plans->keep(std::move(plans));
  return one;
}

Comparison RankRows::row_of_all(const Pair& pair, const MeasurePair& measure_pair,
                                const std::vector<Comparison>& by_rank) const {
  const RankShares& ranks = *pair.ranks();
  Comparison all;
  if (ranks.are_copies) {
    all = *std::ranges::max_element(by_rank, {},
                                    [&](const Comparison& row) { return rows_.error_in(row).value_or(0); });
    all.note = pair.plans->note;
  } else {
    PairPlans plans;
    plans.note = pair.plans->note;
    plans.of(ranks.side) = joined_from(ranks.side, ranks.items, ranks.dimension);
    Pair joined = pair;
    joined.plans = matched_.pairing.late_plans->keep(std::move(plans));
    all = measure_pair(joined);
    all.note = pair.plans->note;
    all.is_cut = true;
  }
  all.of(ranks.side).name = pair.plans->of(ranks.side).name;
  return all;
}

bool RankRows::have_one_rule(const Pair& pair, const PairedNode& node) const {
  if (!flow_.rule_of) return true;
  const RankShares& ranks = *pair.ranks();
  Comparison row;
  row.mine.name = matched_.item(Side::mine, *pair.mine).name;
  row.golden.name = matched_.item(Side::golden, *pair.golden).name;
  row.of(ranks.side).name = pair.plans->of(ranks.side).name;
  const void* const of_all = flow_.rule_of(row, node.name);
  const std::string_view seen = row.of(ranks.seen).name;
  for (size_t i = 0; i < ranks.items.size(); ++i) {
    const std::string part = fmt::format("{}{}", seen, ranks.share(i).part);
    if (ranks.seen != ranks.side) row.of(ranks.seen).name = part;
    row.of(ranks.side).name = matched_.item(ranks.side, ranks.items[i]).name;
    const std::string_view name =
        ranks.side == Side::mine ? matched_.frames.node(Side::mine, ranks.items[i]).name : node.name;
    if (flow_.rule_of(row, name) != of_all) return false;
  }
  return true;
}

std::vector<Comparison> RankRows::measure(const Pair& pair, const PairedNode& node,
                                          const MeasurePair& measure_pair, PairScratch& scratch) {
  // Where rows are judged by those before them, nothing can be said of one row yet.
  const bool may_be_one = !flow_.judge_in_order && !is_prepared_ && have_one_rule(pair, node);
  if (may_be_one)
    if (auto together = put_together(pair, node, {}, scratch)) return {std::move(*together)};
  const RankShares& ranks = *pair.ranks();
  std::vector<Comparison> by_rank;
  for (size_t i = 0; i < ranks.items.size(); ++i) by_rank.push_back(measure_pair(pair_of(pair, i)));
  const bool are_alike = std::ranges::all_of(
      by_rank, [&](const Comparison& row) { return is_plain(row) && row.judged_as == by_rank[0].judged_as; });
  if (!may_be_one || !are_alike || !all_pass(node, by_rank)) return by_rank;
  if (by_rank[0].judged_as) {
    if (auto together = put_together(pair, node, by_rank[0].judged_as, scratch)) {
      together->note = by_rank[0].note;
      return {std::move(*together)};
    }
  } else if (ranks.are_copies || ranks.dimension >= 0) {
    Comparison all = row_of_all(pair, measure_pair, by_rank);
    if (is_plain(all) && all_pass(node, {all})) return {std::move(all)};
  }
  return by_rank;
}

}  // namespace assay
