#include "assay/run/compare/measure.h"

#include "assay/base/cancel.h"
#include "assay/metric/arg_max.h"
#include "assay/metric/numpy_stats.h"
#include "assay/model/graph.h"
#include "assay/model/logits.h"
#include "assay/run/compare/contents.h"
#include "assay/run/compare/gather_parallel.h"
#include "assay/run/compare/plan_runner.h"
#include "assay/run/compare/quantised_rows.h"
#include "assay/run/compare/row_facts.h"
#include "assay/run/compare/stated_comparison.h"
#include "assay/support/log.h"
#include "assay/tensor/rounded_values.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace assay {
namespace {

// A batch is large enough to hide the cost of handing it on, small enough to share out.
constexpr size_t kBatchNodes = 64;
constexpr int64_t kBatchBytes = int64_t{32} << 20;

void add_note(Comparison& row, std::string_view text) {
  if (!row.note.empty()) row.note += "; ";
  row.note += text;
}

struct Batch {
  size_t first = 0, last = 0;  // of Pairing::nodes
  std::vector<NodeResult> nodes;
  std::vector<std::string> rendered;
};
using BatchPtr = std::shared_ptr<Batch>;

class Measurer {
 public:
  Measurer(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options, Progress& progress,
           SideStatistics side_statistics, const Prepare& prepare, const RowFlow& flow)
      : matched_(matched),
        metrics_(metrics),
        doubts_(flow.doubts),
        loader_(matched.frames, options.format, options.open_files),
        plans_(matched.frames, loader_),
        stated_(matched, metrics, loader_),
        progress_(progress),
        side_statistics_(side_statistics),
        prepare_(prepare) {
    for (const Side side : {Side::mine, Side::golden})
      for (const Frame& frame : matched.frames.frames(side)) has_trees_ &= !frame.tree().ops.empty();
  }

  NodeResult measure_node(const PairedNode& node, PairScratch& scratch) {
    const auto index = static_cast<int32_t>(&node - matched_.pairing.nodes.data());
    NodeResult result{node.name, node.order, node.stack, {}, node.place, index};
    const auto& sources = matched_.pairing.sources;
    if (!sources.empty()) result.sources = sources[static_cast<size_t>(index)];
    result.rows.reserve(node.pairs.size());
    for (const Pair& pair : node.pairs) result.rows.push_back(measure_pair(pair, node.name, scratch));
    return result;
  }

  int64_t bytes_of(const PairedNode& node) const {
    int64_t bytes = 0;
    for (const Pair& pair : node.pairs) {
      if (pair.mine) bytes += loader_.size_of_item(Side::mine, *pair.mine);
      if (pair.golden) bytes += loader_.size_of_item(pair.golden_side(), *pair.golden);
    }
    return bytes;
  }

 private:
  Comparison measure_pair(const Pair& pair, std::string_view node, PairScratch& scratch) {
    Comparison row;
    row.pair = pair;
    std::optional<Made> mine = take(Side::mine, Side::mine, pair.mine, row.mine, row);
    std::optional<Made> golden = take(Side::golden, pair.golden_side(), pair.golden, row.golden, row);
    for (const Side side : {Side::mine, Side::golden})
      if (const Plan* const plan = pair.plan(side); plan != nullptr && !plan->name.empty())
        (side == Side::mine ? row.mine : row.golden).name = plan->name;
    if (!pair.mine || !pair.golden) {  // what cannot be read is trouble whether it has a partner or not
      if (row.status != Status::unreadable) row.status = pair.mine ? Status::only_mine : Status::only_golden;
      return row;
    }
    if (mine && golden) {
      leave_whole_numbers(*mine, *golden);
      leave_whole_numbers(*golden, *mine);
    }
    OperandPtr of_mine = mine ? mine->own() : nullptr, of_golden = golden ? golden->own() : nullptr;
    if (row.status == Status::compared)
      align_and_gather(*mine, *golden, node, scratch, row, of_mine, of_golden);
    else if (row.status == Status::no_data)
      stated_.compare(of_mine, of_golden, row);
    if (side_statistics_ == SideStatistics::as_f32) {
      add_statistics_as_f32(of_mine, row.mine, row);
      add_statistics_as_f32(of_golden, row.golden, row);
    }
    return row;
  }

  // Opens one side and notes what it is. A failure sets the status of the row; the first reason stays.
  // `side`: whose item it is, which may be mine where it stands for golden.
  std::optional<Made> take(Side stands_for, Side side, const std::optional<ItemId>& id, SideFacts& facts,
                           Comparison& row) {
    if (!id) return std::nullopt;
    const Item& item = matched_.item(side, *id);
    facts.name = item.name;
    facts.item = &item;
    const Frame& frame = matched_.frames.frame(side, *id);
    facts.op_type = matched_.frames.node(side, *id).type;
    facts.token = frame.at.token;
    facts.meta = RowMeta(item.meta);
    if (const fs::path* file = loader_.file_of(side, *id))
      facts.file = *file;
    else if (item.described_in >= 0)
      facts.file = frame.files[static_cast<size_t>(item.described_in)].path;
    const auto refuse = [&](Status status, std::string why) {
      // What cannot be read is trouble, whatever the other side lacks.
      const bool is_worse = status == Status::unreadable && row.status == Status::no_data;
      if (row.status == Status::compared || is_worse) {
        row.status = status;
        row.note = std::move(why);
      }
      return std::nullopt;
    };
    if (!item.trouble.empty()) return refuse(Status::unreadable, std::string(item.trouble));
    if (!item.data)
      return refuse(Status::no_data, fmt::format("{} has no data in {}{}", item.name,
                                                 side == Side::mine ? "mine" : "golden", why_no_data(item)));
    auto loaded = loader_.load(side, *id);
    if (!loaded && loaded.error().kind == ErrorKind::not_found)
      if (const auto left = loader_.find_statistics(side, *id)) {
        facts.meta = RowMeta(*left->meta);
        facts.computed = keep_stated(*left->stats);
        return refuse(Status::no_data, fmt::format("{} has statistics only in {}", item.name,
                                                   side == Side::mine ? "mine" : "golden"));
      }
    if (!loaded) return refuse(Status::unreadable, loaded.error().message);
    // A dump that describes its tensors names a file for each: what else is in it is not what was dumped.
    const bool is_named_by_dump = item.stated != nullptr && !item.stated->data_name.empty();
    // … while indexing, and has warned.
    const bool was_opened_before = !is_named_by_dump && item.meta != nullptr;
    if (is_named_by_dump) {
      if (loaded->tensors != 1)
        return refuse(Status::unreadable, fmt::format("{}: holds {} tensors where the dump has one",
                                                      display(facts.file), loaded->tensors));
      for (const Remark& remark : loaded->warnings)
        if (remark.kind == Remark::Kind::refused) return refuse(Status::unreadable, remark.text);
    } else if (!was_opened_before) {
      if (loaded->tensors != 1)
        return refuse(Status::unreadable, fmt::format("{}: holds {} tensors where its name promises one",
                                                      display(facts.file), loaded->tensors));
    }
    if (!was_opened_before)
      for (const Remark& remark : loaded->warnings) {
        log::warn("{}", remark.text);
        row.left_out += remark.count;
      }
    const bool is_prepared = static_cast<bool>(prepare_);
    if (is_prepared) {
      auto prepared = prepare_(side, facts.file, loaded->data);
      if (!prepared) return refuse(Status::unreadable, prepared.error().message);
      loaded->data = std::move(*prepared);
    }
    if (!is_prepared && item.meta != nullptr && item.meta->shape != loaded->data->meta.shape)
      row.note = fmt::format("{} holds shape {} where the dump says {}", display(facts.file),
                             loaded->data->meta.shape.text(), item.meta->shape.text());
    Result<Made> made = make(stands_for, side, *id, row.pair, std::move(loaded->data));
    if (!made)
      return refuse(made.error().kind == ErrorKind::not_found ? Status::no_data : Status::unreadable,
                    made.error().message);
    facts.meta = (made->quantised != nullptr ? made->quantised->own : made->own())->meta;
    if (side_statistics_ == SideStatistics::own_type) {
      const auto side_sums = gather_one(*made->own());
      if (!side_sums) return refuse(Status::unreadable, side_sums.error().message);
      facts.measured = numpy_statistics(*side_sums, facts.meta->dtype);
    }
    return std::move(*made);
  }

  Result<Made> make(Side stands_for, Side side, const ItemId& id, const Pair& pair, OperandPtr loaded) const {
    if (const Plan* const plan = pair.plan(stands_for)) return plans_.run(*plan, std::move(loaded));
    Made as_it_stands;
    as_it_stands.parts.push_back(plans_.spread(side, id, std::move(loaded)));
    return as_it_stands;
  }

  Result<std::optional<Aligned>> align_pair(const Made& mine, const Made& golden, const Pair& pair) const {
    AlignRules rules;
    rules.merge = has_trees_ || matched_.pairing.graphs_differ;
    rules.flatten = matched_.pairing.flattens;
    // A table that numbers its pairs is another tool's, which leaves such pairs out.
    rules.last_row = pair.why == Why::last_output && pair.number < 0;
    rules.repeat = matched_.pairing.repeats_batch;
    return align(mine, golden, rules);
  }

  // of_mine, of_golden: the tensors that the row describes.
  void align_and_gather(const Made& mine, const Made& golden, std::string_view node, PairScratch& scratch,
                        Comparison& row, OperandPtr& of_mine, OperandPtr& of_golden) {
    if (is_left_quantised(matched_.pairing, mine.own()->meta, golden.own()->meta)) {
      const Side side = mine.own()->meta.dtype == DType::i8 ? Side::mine : Side::golden;
      const ItemId& id = side == Side::mine ? *row.pair.mine : *row.pair.golden;
      return refuse_int8(
          row, fmt::format("the dump holds no scale and offset of {}", matched_.item(side, id).name));
    }
    for (const Side side : {Side::mine, Side::golden})
      if ((side == Side::mine ? mine : golden).quantised != nullptr)
        add_note(row, fmt::format("int8 of {} made real by its scale and offset", name_of(side)));
    if (row.pair.plans != nullptr && !row.pair.plans->note.empty()) add_note(row, row.pair.plans->note);
    auto aligned = align_pair(mine, golden, row.pair);
    if (aligned && !*aligned && may_be_rearranged(row.pair, mine, golden)) {
      aligned = rearrange(mine.own(), golden.own());
      row.is_rearranged = aligned && *aligned;
    }
    for (const Side side : {Side::mine, Side::golden})
      if (const Plan* const plan = row.pair.plan(side)) row.is_rearranged |= plan->has(PlanOp::view);
    if (!aligned) {
      row.status = Status::unreadable;
      row.note = aligned.error().message;
      return;
    }
    if (!*aligned) {
      row.is_excused = row.pair.plans != nullptr && row.pair.plans->may_not_fit();
      row.status = row.is_excused ? Status::no_data : Status::shape_mismatch;
      add_note(row, fmt::format("shape {} against {}", mine.own()->meta.shape.text(),
                                golden.own()->meta.shape.text()));
      return;
    }
    for (const Side side : {Side::mine, Side::golden})
      if (const Plan* const plan = row.pair.plan(side)) {
        if (is_put_together(*plan))
          (side == Side::mine ? row.mine : row.golden).meta =
              (side == Side::mine ? (*aligned)->mine : (*aligned)->golden)->meta;
        if (const std::string note = what_was_taken(*plan, name_of(side)); !note.empty()) add_note(row, note);
      }
    // A table that numbers its pairs is another tool's, which describes what was joined.
    if (row.pair.number >= 0 && (*aligned)->mine_joined)
      describe_joined(of_mine = (*aligned)->mine, row.mine);
    if (row.pair.number >= 0 && (*aligned)->golden_joined)
      describe_joined(of_golden = (*aligned)->golden, row.golden);
    if (!(*aligned)->note.empty()) add_note(row, (*aligned)->note);
    bool is_part = (*aligned)->is_part;
    for (const Side side : {Side::mine, Side::golden})
      if (const PositionsTaken& positions = (side == Side::mine ? mine : golden).positions;
          positions.are_some()) {
        is_part = true;
        add_note(row, fmt::format("{} of {} positions of {}", positions.taken, positions.of, name_of(side)));
      }
    const bool is_whole = (*aligned)->mine == of_mine && (*aligned)->golden == of_golden;
    const double error = gather(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row);
    if (doubts_ && !metrics_.steps_of && row.basis == Basis::data && doubts_(row, node))
      gather_rounded(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row);
    const bool has_copies = stands_for_ranks(row.pair) && (has_copies_of(Side::mine, mine, **aligned) ||
                                                           has_copies_of(Side::golden, golden, **aligned));
    if (has_copies && compares_copies(row.pair)) {
      gather_copies(mine, golden, **aligned, error, scratch, row);
    } else if (has_copies) {
      add_note(row, "the first rank of each side");
      if (row.evidence == Evidence::elements) row.evidence = Evidence::one_rank;
    }
    const bool is_by_elements = row.evidence == Evidence::elements || row.evidence == Evidence::one_rank ||
                                row.evidence == Evidence::finite_elements;
    if (is_by_elements && is_part) row.evidence = Evidence::some_elements;
  }

  bool may_be_rearranged(const Pair& pair, const Made& mine, const Made& golden) const {
    return matched_.pairing.rearranges && (pair.plan(Side::mine) == nullptr) &&
           (pair.plan(Side::golden) == nullptr) && mine.ranks() == 1 && golden.ranks() == 1;
  }

  static std::string_view name_of(Side side) { return side == Side::mine ? "mine" : "golden"; }

  // Each rank holds all of it.
  static bool has_copies_of(Side side, const Made& made, const Aligned& aligned) {
    return made.ranks() > 1 && !(side == Side::mine ? aligned.mine_joined : aligned.golden_joined);
  }

  // Where the sides have other numbers of ranks, the first rank stands for all of them.
  bool stands_for_ranks(const Pair& pair) const {
    return matched_.frames.frame(Side::mine, *pair.mine).at.rank < 0 &&
           matched_.frames.frame(pair.golden_side(), *pair.golden).at.rank < 0;
  }

  // A table that numbers its pairs is another tool's, which looks at the first rank only.
  bool compares_copies(const Pair& pair) const { return !prepare_ && pair.number < 0; }

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
        const auto aligned =
            side == Side::mine ? align_pair(*copy, golden, row.pair) : align_pair(mine, *copy, row.pair);
        if (!aligned) return give_up(Status::unreadable, aligned.error().message);
        if (!*aligned)
          return give_up(Status::shape_mismatch,
                         fmt::format("{} holds shape {}", which, copy->own()->meta.shape.text()));
        Comparison of_copy = row;
        const double its_error = gather(*(*aligned)->mine, *(*aligned)->golden, false, scratch, of_copy);
        if (of_copy.status != Status::compared) return give_up(of_copy.status, std::move(of_copy.note));
        if (its_error > error) {
          row = std::move(of_copy);
          error = its_error;
          row.note = first_note;
          add_note(row, which);
        }
      }
    }
  }

  // A row that would fail may hold values that were rounded to a coarser type than that of the file: then its
  // steps are those of that type.
  void gather_rounded(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
                      Comparison& row) {
    const DType own = coarser(mine.meta.dtype, golden.meta.dtype);
    std::optional<DType> found;
    std::string note;
    for (const Side side : {Side::mine, Side::golden}) {
      const auto rounded = find_rounded_type(side == Side::mine ? mine : golden,
                                             side == Side::mine ? scratch.mine : scratch.golden);
      if (!rounded || !*rounded || coarser(own, **rounded) == own) continue;
      if (!found || coarser(*found, **rounded) != *found) {
        found = **rounded;
        note =
            fmt::format("all values of {} are exact in {}: judged as such", name_of(side), name(**rounded));
      }
    }
    if (!found) return;
    gather(mine, golden, is_whole, scratch, row, found);
    add_note(row, note);
  }

  // is_whole: these are the two tensors of the row, and nothing made of them. Answers how far they are apart:
  // the square of the relative error, infinite where NaN or infinities differ.
  double gather(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
                Comparison& row, std::optional<DType> rounded_to = {}) {
    if (is_complex(mine.meta.dtype) != is_complex(golden.meta.dtype)) {
      row.status = Status::unreadable;
      row.note = fmt::format("complex against real: {} and {}; convert one of them first",
                             name(mine.meta.dtype), name(golden.meta.dtype));
      return 0;
    }
    scratch.forget();
    const bool is_logits =
        row.pair.why == Why::last_output || (are_logits(*row.mine.item) && are_logits(*row.golden.item));
    const GatherMask needs = is_logits ? metrics_.needs : metrics_.needs & ~metrics_.only_of_logits;
    auto gathered = gather_parallel(
        mine, golden,
        {needs, metrics_.own_sums, rounded_to ? rounded_to : metrics_.steps_of, metrics_.closeness}, scratch,
        progress_);
    if (!gathered) {
      row.status = Status::unreadable;
      row.note = gathered.error().message;
      return 0;
    }
    if ((metrics_.needs & gather::arg_max) != 0 && is_logits) {
      auto chosen = compare_arg_max(mine, golden);
      if (chosen) gathered->arg_max = row.arg_max = std::make_shared<const ArgMax>(*chosen);
      if (chosen && chosen->mine != chosen->golden)
        add_note(row, fmt::format("mine chooses token {}, golden {}", chosen->mine, chosen->golden));
    }
    if (side_statistics_ == SideStatistics::as_f32 && is_whole && !is_complex(mine.meta.dtype))
      take_statistics_as_f32(gathered->pair, row);
    row.basis = Basis::data;
    row.metrics = metrics_.finish(*gathered);
    const PairSums& pair = gathered->pair;
    row.nothing_finite = pair.finite == 0;
    row.near = pair.worst >= 0 ? std::make_shared<const Neighbours>(pair.near) : nullptr;
    row.judged_as = rounded_to;
    if (pair.count == 0)
      row.evidence = Evidence::empty;
    else if (pair.finite > 0 || pair.nonfinite_mismatch > 0)
      row.evidence = is_range(row)                                        ? Evidence::extremes
                     : pair.finite + pair.nonfinite_mismatch < pair.count ? Evidence::finite_elements
                                                                          : Evidence::elements;
    if (pair.nonfinite_mismatch > 0) return std::numeric_limits<double>::infinity();
    return pair.diff_squares > 0 ? pair.diff_squares / pair.golden.sum_squares : 0;
  }

  const Matched& matched_;
  const MetricPlan& metrics_;
  const std::function<bool(const Comparison&, std::string_view)>& doubts_;
  Loader loader_;
  const PlanRunner plans_;
  const StatedComparison stated_;
  Progress& progress_;
  const SideStatistics side_statistics_;
  const Prepare& prepare_;
  // Dumps of operators on both sides: two systems may lay out the same tensor with other dimensions.
  bool has_trees_ = true;
};

}  // namespace

Result<void> measure(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options,
                     const RowFlow& flow, bool one_by_one, Progress& progress, SideStatistics side_statistics,
                     const Prepare& prepare) {
  Measurer measurer(matched, metrics, options, progress, side_statistics, prepare, flow);
  const std::vector<PairedNode>& nodes = matched.pairing.nodes;
  tbb::enumerable_thread_specific<PairScratch> scratches;
  const size_t most = one_by_one ? 1 : kBatchNodes;
  std::atomic<bool> stop{false};
  std::optional<Error> error;
  size_t next = 0;

  const auto next_batch = [&](tbb::flow_control& control) -> BatchPtr {
    if (next >= nodes.size() || stop || cancelled()) {
      control.stop();
      return nullptr;
    }
    auto batch = std::make_shared<Batch>();
    batch->first = next;
    int64_t bytes = 0;
    while (next < nodes.size() && next - batch->first < most && bytes < kBatchBytes)
      bytes += measurer.bytes_of(nodes[next++]);
    batch->last = next;
    return batch;
  };
  const auto work = [&](BatchPtr batch) -> BatchPtr {
    PairScratch& scratch = scratches.local();
    for (size_t i = batch->first; i < batch->last && !cancelled(); ++i)
      batch->nodes.push_back(measurer.measure_node(nodes[i], scratch));
    return batch;
  };
  const auto judge = [&](BatchPtr batch) -> BatchPtr {
    flow.judge(batch->nodes);
    return batch;
  };
  const auto render = [&](BatchPtr batch) -> BatchPtr {
    batch->rendered = flow.render(batch->nodes);
    return batch;
  };
  const auto write = [&](const BatchPtr& batch) {
    if (stop || cancelled()) return;
    const auto go_on = flow.write(batch->nodes, std::move(batch->rendered));
    if (!go_on) error = go_on.error();
    if (!go_on || !*go_on) stop = true;
  };
  tbb::parallel_pipeline(
      static_cast<size_t>(tbb::this_task_arena::max_concurrency()) * 2,
      tbb::make_filter<void, BatchPtr>(tbb::filter_mode::serial_in_order, next_batch) &
          tbb::make_filter<BatchPtr, BatchPtr>(tbb::filter_mode::parallel, work) &
          tbb::make_filter<BatchPtr, BatchPtr>(
              flow.judge_in_order ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel, judge) &
          tbb::make_filter<BatchPtr, BatchPtr>(tbb::filter_mode::parallel, render) &
          tbb::make_filter<BatchPtr, void>(tbb::filter_mode::serial_in_order, write));
  if (error) return tl::unexpected<Error>(std::move(*error));
  return check_cancelled();
}

int64_t bytes_to_read(const Matched& matched) {
  const Loader loader(matched.frames, {});
  int64_t bytes = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (pair.mine && pair.golden)
        bytes += loader.size_of_item(Side::mine, *pair.mine) +
                 loader.size_of_item(pair.golden_side(), *pair.golden);
  return bytes;
}

}  // namespace assay
