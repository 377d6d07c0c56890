#include "assay/run/compare/measure.h"

#include "assay/base/cancel.h"
#include "assay/run/cluster/team.h"
#include "assay/run/compare/contents.h"
#include "assay/run/compare/look.h"
#include "assay/run/compare/pair_aligner.h"
#include "assay/run/compare/quantised_rows.h"
#include "assay/run/compare/rank_rows.h"
#include "assay/run/compare/reruns.h"
#include "assay/run/compare/row_details.h"
#include "assay/run/compare/row_facts.h"
#include "assay/run/compare/row_gatherer.h"
#include "assay/run/compare/siblings.h"
#include "assay/run/compare/side_taker.h"
#include "assay/run/compare/stated_comparison.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <memory>
#include <mutex>

namespace assay {
namespace {

// A batch is large enough to hide the cost of handing it on, small enough to share out.
constexpr size_t kBatchNodes = 64;
constexpr int64_t kBatchBytes = int64_t{32} << 20;

// Golden operators hold whole tensors, as f64 and with a bound for each element: about so many bytes for each
// one that was dumped of them.
constexpr int64_t kHeldByOperator = 16;

// Bytes of the tensors of the largest operator that is run again; 0: none is.
int64_t largest_operator(const Matched& matched) {
  const Loader loader(matched.frames, {});
  int64_t largest = 0;
  for (const PairedNode& node : matched.pairing.nodes) {
    int64_t bytes = 0;
    for (const Pair& pair : node.pairs) {
      if (!pair.is_computed()) continue;
      for (const PlanSource& source : pair.plan(Side::golden)->from)
        bytes += loader.size_of_item(source.side, source.item);
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

// … of all ranks but the first.
int64_t bytes_of_ranks(const Loader& loader, const Pair& pair) {
  int64_t bytes = 0;
  if (const RankShares* const ranks = pair.ranks())
    for (size_t i = 1; i < ranks->items.size(); ++i)
      bytes += loader.size_of_item(ranks->side, ranks->items[i]);
  return bytes;
}

// All elements of one tensor, in another shape or order: nothing is cut.
bool shows_all(const Matched& matched, const Plan& plan) {
  const PlanStep* const view = plan.find_last(PlanOp::view);
  if (view == nullptr || plan.from.size() != 1) return false;
  const auto& meta = matched.item(plan.from[0].side, plan.from[0].item).meta;
  int64_t count = 1;
  for (size_t i = 1; i <= view->args.size() / 2; ++i) count *= view->args[i];
  return meta != nullptr && count == meta->shape.count();
}

// What was gathered of a pair that may be looked at more closely.
struct KeptSums {
  Pair pair;
  std::shared_ptr<const PairSums> sums;

  bool is_of(const Pair& other) const {
    return pair.mine == other.mine && pair.golden == other.golden && pair.plans == other.plans;
  }
};

struct Batch {
  size_t first = 0, last = 0;  // of Pairing::nodes
  std::vector<NodeResult> nodes;
  std::vector<KeptSums> kept;
  std::vector<Comparison*> in_for_detail;
  std::vector<std::string> rendered;
};

class Measurer {
 public:
  Measurer(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options, Progress& progress,
           SideStatistics side_statistics, const Prepare& prepare, const RowFlow& flow,
           const GoldenOptions& golden)
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
        ranks_(matched, loader_, rows_, flow, is_prepared_) {}

  NodeResult without_rows(const PairedNode& node) const {
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

  // A node; several where ranks that have nodes of their own have rows of their own.
  void measure_node(const PairedNode& node, PairScratch& scratch, Batch& batch) {
    std::vector<NodeResult>& out = batch.nodes;
    NodeResult result = without_rows(node);
    result.rows.reserve(node.pairs.size());
    const auto by_itself = [&](const Pair& pair) {
      return measure_pair(pair, node.name, scratch, batch.kept);
    };
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

  // What one more look shows. That it cannot be had takes nothing from a row that failed anyway.
  std::shared_ptr<const Detail> look_again(const Comparison& row, const RowFlow& flow, PairScratch& scratch,
                                           std::span<const KeptSums> kept) {
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

  Loader& loader() { return loader_; }

  int64_t bytes_of(const PairedNode& node) const {
    int64_t bytes = 0;
    for (const Pair& pair : node.pairs) {
      if (pair.mine) bytes += loader_.size_of_item(Side::mine, *pair.mine);
      if (pair.golden) bytes += loader_.size_of_item(pair.golden_side(), *pair.golden);
      bytes += bytes_of_ranks(loader_, pair);
    }
    return bytes;
  }

 private:
  Comparison measure_pair(const Pair& pair, std::string_view node, PairScratch& scratch,
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

  // of_mine, of_golden: the tensors that the row describes.
  void align_and_gather(const Made& mine, const Made& golden, std::string_view node, PairScratch& scratch,
                        Comparison& row, OperandPtr& of_mine, OperandPtr& of_golden,
                        std::vector<KeptSums>& kept) {
    if (is_left_quantised(matched_.pairing, mine.own()->meta, golden.own()->meta)) {
      const Side side = mine.own()->meta.dtype == DType::i8 ? Side::mine : Side::golden;
      const ItemId& id = side == Side::mine ? *row.pair.mine : *row.pair.golden;
      return refuse_int8(
          row, fmt::format("the dump holds no scale and offset of {}", matched_.item(side, id).name));
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
    if (row.pair.number >= 0 && (*aligned)->mine_joined)
      describe_joined(of_mine = (*aligned)->mine, row.mine);
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

  // Ranks hold a tensor in one type; where the sides differ, one of the ranks may have gone astray.
  void note_types(DType mine, DType golden, Comparison& row) {
    if (mine == golden || !matched_.pairing.rearranges) return;
    for (const Side side : {Side::mine, Side::golden})
      if (const std::string note =
              siblings_.other_types(side, side == Side::mine ? *row.pair.mine : *row.pair.golden,
                                    side == Side::mine ? mine : golden);
          !note.empty()) {
        row.is_other_type = true;
        row.add_note(note);
      }
  }

  // A table that numbers its pairs is another tool's, which looks at the first rank only.
  bool compares_copies(const Pair& pair) const { return !is_prepared_ && pair.number < 0; }

  // Each rank of a side holds the tensor whole: all of them have to agree. The row is that of the worst.
  void gather_copies(const Made& mine, const Made& golden, const Aligned& first, double error,
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
          return give_up(
              copy.error().kind == ErrorKind::mismatch ? Status::shape_mismatch : Status::unreadable,
              copy.error().message);
        const auto aligned = side == Side::mine ? aligner_.align(*copy, golden, row.pair)
                                                : aligner_.align(mine, *copy, row.pair);
        if (!aligned) return give_up(Status::unreadable, aligned.error().message);
        if (!*aligned)
          return give_up(Status::shape_mismatch,
                         fmt::format("{} holds shape {}", which, copy->own()->meta.shape.text()));
        Comparison of_copy = row;
        const double its_error =
            rows_.gather(*(*aligned)->mine, *(*aligned)->golden, false, scratch, of_copy);
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

  const Matched& matched_;
  const MetricPlan& metrics_;
  Progress& progress_;
  const std::function<bool(const Comparison&, std::string_view)>& doubts_;
  const bool looks_closely_;
  Loader loader_;
  SideTaker sides_;
  RowGatherer rows_;
  const StatedComparison stated_;
  Siblings siblings_;
  const SideStatistics side_statistics_;
  const PairAligner aligner_;
  const bool is_prepared_;
  RankRows ranks_;
  std::once_flag details_made_;
  std::unique_ptr<RowDetails> details_;  // made when the first row fails
};

}  // namespace

Result<void> measure(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options,
                     const RowFlow& flow, bool one_by_one, Progress& progress, SideStatistics side_statistics,
                     const Prepare& prepare, GoldenOptions golden) {
  const int64_t operator_bytes = largest_operator(matched);
  const bool runs_operators = operator_bytes > 0;
  auto packets = static_cast<int64_t>(2 * threads_at_work());
  if (runs_operators) {  // as many at a time as the memory has room for; each of them may use all cores
    packets = std::clamp<int64_t>(golden.memory / kHeldByOperator / operator_bytes, 1, packets);
    golden.memory /= packets;
  }
  Measurer measurer(matched, metrics, options, progress, side_statistics, prepare, flow, golden);
  const std::vector<PairedNode>& nodes = matched.pairing.nodes;
  PerThread<PairScratch> scratches;
  const size_t most = one_by_one || runs_operators ? 1 : kBatchNodes;
  std::atomic<bool> stop{false};
  std::optional<Error> error;
  size_t next = 0;

  const auto cut_batch = [&](size_t& from, size_t end) -> std::unique_ptr<Batch> {
    if (from >= end || stop || cancelled()) return nullptr;
    auto batch = std::make_unique<Batch>();
    batch->first = from;
    int64_t bytes = 0;
    while (from < end && from - batch->first < most && bytes < kBatchBytes)
      bytes += measurer.bytes_of(nodes[from++]);
    batch->last = from;
    return batch;
  };
  std::optional<TeamRows> of_team;
  if (flow.team != nullptr) {
    PieceWork of_piece;
    of_piece.measure = [&](const WorkPiece& piece, SharedBands* shared) {
      std::vector<NodeRows> rows(piece.last - piece.first);
      size_t from = piece.first;
      Pipeline<Batch>([&] { return cut_batch(from, piece.last); })
          .then(StageOrder::any,
                [&](Batch& batch) {
                  PairScratch& scratch = scratches.local();
                  const SharedBandsScope together(shared);
                  for (size_t i = batch.first; i < batch.last && !cancelled(); ++i) {
                    Batch of_node;
                    measurer.measure_node(nodes[i], scratch, of_node);
                    rows[i - piece.first] = std::move(of_node.nodes);
                  }
                })
          .run(WhileWaiting::stands, static_cast<size_t>(packets));
      return rows;
    };
    of_piece.blank = [&](size_t node) { return measurer.without_rows(nodes[node]); };
    of_piece.progress = [&](int64_t bytes) { progress.done(bytes); };
    ASSAY_TRY_DO(flow.team->measure_section(
        matched,
        cut_in_pieces(matched.pairing, !runs_operators && !matched.pairing.by_itself,
                      [&](const PairedNode& node) { return measurer.bytes_of(node); }),
        std::move(of_piece)));
    if (!flow.team->leads()) return {};
    of_team.emplace(*flow.team);
  }
  const auto next_batch = [&]() -> std::unique_ptr<Batch> {
    if (!of_team) return cut_batch(next, nodes.size());
    if (stop || cancelled()) return nullptr;
    auto batch = std::make_unique<Batch>();
    for (size_t count = 0; count < most && of_team->take(batch->nodes); ++count) {
    }
    return batch->nodes.empty() ? nullptr : std::move(batch);
  };
  const auto work = [&](Batch& batch) {
    PairScratch& scratch = scratches.local();
    for (size_t i = batch.first; i < batch.last && !cancelled(); ++i)
      measurer.measure_node(nodes[i], scratch, batch);
  };
  const auto judge = [&](Batch& batch) { flow.judge(batch.nodes); };
  std::optional<Reruns> reruns;
  if (flow.origin >= OriginBy::run)
    reruns.emplace(matched, measurer.loader(), metrics, golden, prepare, flow.origin, bytes_to_read(matched),
                   flow.doubts);
  const auto run_again = [&](Batch& batch) {
    PairScratch& scratch = scratches.local();
    for (NodeResult& node : batch.nodes)
      if (!cancelled()) reruns->run(node, scratch);
  };
  const auto choose = [&](Batch& batch) {
    for (NodeResult& node : batch.nodes)
      for (Comparison& row : node.rows)
        if (flow.details->take(row, relative_error(metrics.columns, row)))
          batch.in_for_detail.push_back(&row);
  };
  const auto look_again = [&](Batch& batch) {
    if (batch.in_for_detail.empty() || cancelled()) return;
    PairScratch& scratch = scratches.local();
    for (Comparison* row : batch.in_for_detail)
      row->detail = measurer.look_again(*row, flow, scratch, batch.kept);
  };
  const auto render = [&](Batch& batch) { batch.rendered = flow.render(batch.nodes); };
  const auto write = [&](Batch& batch) {
    if (stop || cancelled()) return;
    const auto go_on = flow.write(batch.nodes, std::move(batch.rendered));
    if (!go_on) error = go_on.error();
    if (!go_on || !*go_on) stop = true;
  };
  Pipeline<Batch> pipeline(next_batch);
  pipeline.then(StageOrder::any, work).then(flow.judge_in_order ? StageOrder::kept : StageOrder::any, judge);
  if (reruns) pipeline.then(StageOrder::kept, run_again);
  if (flow.details != nullptr)  // which rows, report order decides
    pipeline.then(StageOrder::kept, choose).then(StageOrder::any, look_again);
  pipeline.then(StageOrder::any, render)
      .then(StageOrder::kept, write)
      .run(WhileWaiting::helps, static_cast<size_t>(packets));
  if (error) return tl::unexpected<Error>(std::move(*error));
  ASSAY_TRY_DO(check_cancelled());
  return of_team ? of_team->outcome() : Result<void>();
}

int64_t bytes_to_read(const Matched& matched) {
  const Loader loader(matched.frames, {});
  int64_t bytes = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (matched.pairing.by_itself && pair.mine)
        bytes += loader.size_of_item(Side::mine, *pair.mine);
      else if (pair.mine && pair.golden)
        bytes += loader.size_of_item(Side::mine, *pair.mine) +
                 loader.size_of_item(pair.golden_side(), *pair.golden) + bytes_of_ranks(loader, pair);
  return bytes;
}

}  // namespace assay
