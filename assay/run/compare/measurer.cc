#include "assay/run/compare/measurer.h"

#include "assay/run/compare/contents.h"
#include "assay/run/compare/quantised_rows.h"
#include "assay/run/compare/row_facts.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

// All elements of one tensor, in another shape or order: nothing is cut.
bool shows_all(const Matched& matched, const Plan& plan) {
  const PlanStep* const view = plan.find_last(PlanOp::view);
  if (view == nullptr || plan.from.size() != 1) return false;
  const auto& meta = matched.item(plan.from[0].side, plan.from[0].item).meta;
  int64_t count = 1;
  for (size_t i = 1; i <= view->args.size() / 2; ++i) count *= view->args[i];
  return meta != nullptr && count == meta->shape.count();
}

}  // namespace

Measurer::Measurer(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options,
                   Progress& progress, SideStatistics side_statistics, const Prepare& prepare,
                   const RowFlow& flow, const GoldenOptions& golden)
    : matched_(matched),
      metrics_(metrics),
      progress_(progress),
      doubts_(flow.doubts),
      looks_closely_(flow.details != nullptr),
      loader_(matched.frames, options.format, options.open_files),
      sides_(matched, loader_, side_statistics, prepare, golden, flow.checks_claims),
      rows_(metrics, side_statistics, progress, flow.checks_claims && !prepare, flow.algorithms),
      stated_(matched, metrics, loader_),
      siblings_(matched, loader_),
      side_statistics_(side_statistics),
      aligner_(matched),
      is_prepared_(prepare),
      ranks_(matched, loader_, rows_, flow, is_prepared_) {
  loader_.expect(matched.pairing);
}

NodeResult Measurer::without_rows(const PairedNode& node) const {
  const auto index = static_cast<int32_t>(&node - matched_.pairing.nodes.data());
  NodeResult result{node.name, node.order, node.stack, {}, node.place, index};
  const auto& sources = matched_.pairing.sources;
  if (!sources.empty()) result.sources = sources[static_cast<size_t>(index)];
  if (!node.pairs.empty() && node.pairs.front().mine) {
    const ItemId& first = *node.pairs.front().mine;
    const Frame& frame = matched_.frames.frame(Side::mine, first);
    if (!frame.params.empty()) result.params = frame.params[static_cast<size_t>(first.node)].text;
  }
  return result;
}

void Measurer::measure_node(const PairedNode& node, PairScratch& scratch, std::vector<NodeResult>& out,
                            std::vector<KeptSums>& kept) {
  NodeResult result = without_rows(node);
  result.rows.reserve(node.pairs.size());
  const auto by_itself = [&](const Pair& pair) { return measure_pair(pair, node.name, scratch, kept); };
  const auto add = [&](std::string_view name, Comparison&& row) {
    if (name != result.name && !result.rows.empty()) {
      NodeResult next = result;
      next.rows.clear();
      out.push_back(std::exchange(result, std::move(next)));
    }
    result.name = name;
    result.rows.push_back(std::move(row));
  };
  for (const Pair& pair : node.pairs)
    if (pair.ranks() == nullptr)
      add(node.name, by_itself(pair));
    else
      for (Comparison& row : ranks_.measure(pair, node, by_itself, scratch))
        add(matched_.frames.node(Side::mine, *row.pair.mine).name, std::move(row));
  out.push_back(std::move(result));
}

std::shared_ptr<const Detail> Measurer::look_again(const Comparison& row, const RowFlow& flow,
                                                   PairScratch& scratch, std::span<const KeptSums> kept) {
  std::call_once(details_made_, [&] { details_ = std::make_unique<RowDetails>(matched_, loader_); });
  const auto known = std::ranges::find_if(kept, [&](const KeptSums& each) { return each.is_of(row.pair); });
  Progress silent("", 0, false);
  auto detail = details_->read(row.pair, *flow.detail_options, scratch, silent,
                               known == kept.end() ? nullptr : known->sums.get());
  scratch.forget();
  if (!detail && !flow.details->only_failed) {
    Detail trouble;
    trouble.trouble = detail.error().message;
    return std::make_shared<const Detail>(std::move(trouble));
  }
  if (!detail || !*detail) return nullptr;
  return std::make_shared<const Detail>(std::move(**detail));
}

int64_t Measurer::bytes_of(const PairedNode& node) const {
  int64_t bytes = 0;
  for (const Pair& pair : node.pairs) bytes += loader_.size_of_pair(pair);
  return bytes;
}

Comparison Measurer::measure_pair(const Pair& pair, std::string_view node, PairScratch& scratch,
                                  std::vector<KeptSums>& kept) {
  Comparison row;
  row.pair = pair;
  if (pair.plans != nullptr) row.contradiction = pair.plans->contradiction;
  std::optional<Made> mine = sides_.take(Side::mine, row), golden = sides_.take(Side::golden, row);
  for (const Side side : {Side::mine, Side::golden})
    if (const Plan* const plan = pair.plan(side); plan != nullptr && !plan->name.empty())
      row.of(side).name = plan->name;
  if (matched_.pairing.by_itself) {
    look_at(mine ? mine->own() : nullptr, metrics_, progress_, row);
    return row;
  }
  if (!pair.mine || !pair.golden) {  // what cannot be read is trouble whether it has a partner or not
    if (row.status != Status::unreadable) row.status = pair.mine ? Status::only_mine : Status::only_golden;
    if (is_beside(row)) row.note.clear();  // nobody would look for data
    return row;
  }
  if (mine && golden) {
    leave_whole_numbers(*mine, *golden);
    leave_whole_numbers(*golden, *mine);
  }
  OperandPtr of_mine = mine ? mine->own() : nullptr, of_golden = golden ? golden->own() : nullptr;
  if (row.status == Status::compared)
    align_and_gather(*mine, *golden, node, scratch, row, of_mine, of_golden, kept);
  else if (row.status == Status::no_data && !pair.is_computed())
    stated_.compare(of_mine, of_golden, row);
  if (side_statistics_ == SideStatistics::as_f32) {
    add_statistics_as_f32(of_mine, row.mine, row);
    add_statistics_as_f32(of_golden, row.golden, row);
  }
  return row;
}

void Measurer::align_and_gather(const Made& mine, const Made& golden, std::string_view node,
                                PairScratch& scratch, Comparison& row, OperandPtr& of_mine,
                                OperandPtr& of_golden, std::vector<KeptSums>& kept) {
  if (is_left_quantised(matched_.pairing, mine.own()->meta, golden.own()->meta)) {
    const Side side = mine.own()->meta.dtype == DType::i8 ? Side::mine : Side::golden;
    const ItemId& id = side == Side::mine ? *row.pair.mine : *row.pair.golden;
    return refuse_int8(row,
                       fmt::format("the dump holds no scale and offset of {}", matched_.item(side, id).name));
  }
  for (const Side side : {Side::mine, Side::golden})
    if ((side == Side::mine ? mine : golden).quantised != nullptr)
      row.add_note(fmt::format("int8 of {} made real by its scale and offset", name_of(side)));
  if (row.pair.plans != nullptr && !row.pair.plans->note.empty()) row.add_note(row.pair.plans->note);
  note_types(mine.own()->meta.dtype, golden.own()->meta.dtype, row);
  auto aligned = aligner_.align(mine, golden, row.pair);
  if (aligned && !*aligned && aligner_.may_be_rearranged(row.pair, mine, golden)) {
    if (const auto how = find_arrangement(mine.own(), golden.own())) {
      aligned = rearrange(mine.own(), golden.own(), *how);
      row.is_rearranged = aligned && *aligned;
      if (row.is_rearranged && row.contradiction.empty())
        row.contradiction = siblings_.objection_to(row.pair);
    }
  }
  for (const Side side : {Side::mine, Side::golden})
    if (const Plan* const plan = row.pair.plan(side)) {
      const bool is_whole = shows_all(matched_, *plan);
      row.is_cut |= plan->has(PlanOp::view) && !is_whole;
      row.is_rearranged |= is_whole || turns_elements(plan->steps);
    }
  if (!aligned) {
    row.status = Status::unreadable;
    row.note = aligned.error().message;
    return;
  }
  if (!*aligned) {
    row.is_excused = row.pair.plans != nullptr && row.pair.plans->may_not_fit();
    row.status = row.is_excused ? Status::no_data : Status::shape_mismatch;
    row.add_note(
        fmt::format("shape {} against {}", mine.own()->meta.shape.text(), golden.own()->meta.shape.text()));
    return;
  }
  for (const Side side : {Side::mine, Side::golden})
    if (const Plan* const plan = row.pair.plan(side)) {
      if (is_put_together(*plan))
        row.of(side).meta = (side == Side::mine ? (*aligned)->mine : (*aligned)->golden)->meta;
      if (const std::string note = what_was_taken(*plan, name_of(side)); !note.empty()) row.add_note(note);
    }
  // A table that numbers its pairs is another tool's, which describes what was joined.
  if (row.pair.number >= 0 && (*aligned)->mine_joined) describe_joined(of_mine = (*aligned)->mine, row.mine);
  if (row.pair.number >= 0 && (*aligned)->golden_joined)
    describe_joined(of_golden = (*aligned)->golden, row.golden);
  if (!(*aligned)->note.empty()) row.add_note((*aligned)->note);
  bool is_part = (*aligned)->is_part;
  for (const Side side : {Side::mine, Side::golden})
    if (const PositionsTaken& positions = (side == Side::mine ? mine : golden).positions;
        positions.are_some()) {
      is_part = true;
      row.add_note(fmt::format("{} of {} positions of {}", positions.taken, positions.of, name_of(side)));
    }
  const bool is_whole = (*aligned)->mine == of_mine && (*aligned)->golden == of_golden;
  if (golden.expected != nullptr) {
    // One element that was repeated has no bound for each.
    const bool fits = golden.expected->value->meta.shape.count() == (*aligned)->mine->meta.shape.count();
    rows_.gather(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row, {},
                 fits ? golden.expected.get() : nullptr);
    return;
  }
  std::shared_ptr<const PairSums> sums;
  const double error =
      rows_.gather(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row, {}, nullptr, &sums);
  if (sums != nullptr && looks_closely_ && !is_prepared_) kept.push_back({row.pair, std::move(sums)});
  if (error > 0 && doubts_ && !metrics_.steps_of && row.basis == Basis::data && doubts_(row, node))
    rows_.gather_rounded(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row);
  const bool has_copies =
      aligner_.stands_for_ranks(row.pair) &&
      (has_copies_of(Side::mine, mine, **aligned) || has_copies_of(Side::golden, golden, **aligned));
  if (has_copies && compares_copies(row.pair)) {
    gather_copies(mine, golden, **aligned, error, scratch, row);
  } else if (has_copies) {
    row.add_note("the first rank of each side");
    if (row.evidence == Evidence::elements) row.evidence = Evidence::one_rank;
  }
  const bool is_by_elements = row.evidence == Evidence::elements || row.evidence == Evidence::one_rank ||
                              row.evidence == Evidence::finite_elements;
  if (is_by_elements && is_part) row.evidence = Evidence::some_elements;
  if (row.evidence == Evidence::elements && row.pair.plans != nullptr && row.pair.plans->is_one_rank)
    row.evidence = Evidence::one_rank;
}

void Measurer::note_types(DType mine, DType golden, Comparison& row) {
  if (mine == golden || !matched_.pairing.rearranges) return;
  for (const Side side : {Side::mine, Side::golden})
    if (const std::string note = siblings_.other_types(
            side, side == Side::mine ? *row.pair.mine : *row.pair.golden, side == Side::mine ? mine : golden);
        !note.empty()) {
      row.is_other_type = true;
      row.add_note(note);
    }
}

void Measurer::gather_copies(const Made& mine, const Made& golden, const Aligned& first, double error,
                             PairScratch& scratch, Comparison& row) {
  const std::string first_note = row.note;
  // One rank that cannot be compared leaves nothing to say of the others.
  const auto give_up = [&](Status status, std::string why) {
    row.status = status;
    row.note = std::move(why);
    row.basis = Basis::nothing;
    row.evidence = Evidence::nothing;
    row.metrics.clear();
  };
  for (const Side side : {Side::mine, Side::golden}) {
    const Made& copies = side == Side::mine ? mine : golden;
    if (!has_copies_of(side, copies, first)) continue;
    for (size_t rank = 1; rank < copies.ranks(); ++rank) {
      const std::string which = fmt::format("rank {} of {} of {}", rank + 1, copies.ranks(), name_of(side));
      const auto copy = copies.at_rank(rank);
      if (!copy)
        return give_up(copy.error().kind == ErrorKind::mismatch ? Status::shape_mismatch : Status::unreadable,
                       copy.error().message);
      const auto aligned = side == Side::mine ? aligner_.align(*copy, golden, row.pair)
                                              : aligner_.align(mine, *copy, row.pair);
      if (!aligned) return give_up(Status::unreadable, aligned.error().message);
      if (!*aligned)
        return give_up(Status::shape_mismatch,
                       fmt::format("{} holds shape {}", which, copy->own()->meta.shape.text()));
      Comparison of_copy = row;
      const double its_error = rows_.gather(*(*aligned)->mine, *(*aligned)->golden, false, scratch, of_copy);
      if (of_copy.status != Status::compared) return give_up(of_copy.status, std::move(of_copy.note));
      if (its_error > error) {
        row = std::move(of_copy);
        error = its_error;
        row.note = first_note;
        row.add_note(which);
      }
    }
  }
}

}  // namespace assay
