#include "assay/run/measure.h"

#include "assay/base/cancel.h"
#include "assay/metric/arg_max.h"
#include "assay/metric/numpy_stats.h"
#include "assay/run/align.h"
#include "assay/run/dequantise.h"
#include "assay/run/gather_parallel.h"
#include "assay/run/rope.h"
#include "assay/run/stated_parts.h"
#include "assay/support/log.h"
#include "assay/tensor/affine.h"
#include "assay/tensor/dequantized.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <deque>
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
  Measurer(const Matched& matched, const MetricPlan& metrics, const FormatOptions& options,
           Progress& progress, SideStatistics side_statistics)
      : matched_(matched),
        metrics_(metrics),
        loader_(matched.frames, options),
        progress_(progress),
        side_statistics_(side_statistics) {
    for (const Side side : {Side::mine, Side::golden})
      for (const Frame& frame : matched.frames.frames(side)) {
        dumped_with_data_ |= frame.content == Content::data;
        has_trees_ &= !frame.tree.ops.empty();
        auto& sources = side == Side::mine ? quantised_mine_ : quantised_golden_;
        if (matched.pairing.dequantises) sources.emplace_back(frame, static_cast<int32_t>(sources.size()));
      }
  }

  NodeResult measure_node(const PairedNode& node, PairScratch& scratch) {
    NodeResult result{node.name, node.order, node.stack, {}};
    result.rows.reserve(node.pairs.size());
    for (const Pair& pair : node.pairs) result.rows.push_back(measure_pair(pair, scratch));
    return result;
  }

  int64_t bytes_of(const PairedNode& node) const {
    int64_t bytes = 0;
    for (const Pair& pair : node.pairs) {
      if (pair.mine) bytes += loader_.size_of_item(Side::mine, *pair.mine);
      if (pair.golden) bytes += loader_.size_of_item(Side::golden, *pair.golden);
    }
    return bytes;
  }

 private:
  Comparison measure_pair(const Pair& pair, PairScratch& scratch) {
    Comparison row;
    row.pair = pair;
    const OperandPtr mine = take(Side::mine, pair.mine, row.mine, row);
    const OperandPtr golden = take(Side::golden, pair.golden, row.golden, row);
    if (pair.golden_parts != nullptr && !pair.golden_parts->name.empty())
      row.golden.name = pair.golden_parts->name;
    if (!pair.mine || !pair.golden) {  // what cannot be read is trouble whether it has a partner or not
      if (row.status != Status::unreadable) row.status = pair.mine ? Status::only_mine : Status::only_golden;
      return row;
    }
    if (row.status == Status::compared)
      align_and_gather(mine, golden, scratch, row);
    else if (row.status == Status::no_data)
      compare_stated(mine, golden, row);
    if (side_statistics_ == SideStatistics::as_f32) {
      add_statistics_as_f32(mine, row.mine, row);
      add_statistics_as_f32(golden, row.golden, row);
    }
    return row;
  }

  // Unless the pass over the pair has given them already. Tensors without a partner are not read for a table
  // of pairs.
  static void add_statistics_as_f32(const OperandPtr& data, SideFacts& side, Comparison& row) {
    if (data == nullptr || side.measured) return;
    const auto sums = gather_one(*data);
    if (sums) {
      side.measured = numpy_statistics(*sums, is_complex(data->meta.dtype) ? data->meta.dtype : DType::f32);
      return;
    }
    row.status = Status::unreadable;
    row.note = sums.error().message;
  }

  // Where all elements of both are finite, what the pair was measured on is all of each side.
  static void take_statistics_as_f32(const PairSums& pair, Comparison& row) {
    if (pair.finite != pair.count || pair.count == 0 || pair.scale != 0) return;
    const auto of_side = [&](const SideSums& sums) {
      OneSide side;
      side.count = side.finite = pair.count;
      side.min = sums.min;
      side.max = sums.max;
      side.sum = sums.sum;
      side.sum_squares = sums.sum_squares;
      return numpy_statistics(side, DType::f32);
    };
    row.mine.measured = of_side(pair.mine);
    row.golden.measured = of_side(pair.golden);
  }

  static Stated as_stated(const Stats& stats) {
    const auto number = [](const Value& value) -> Scalar {
      if (const auto* real = std::get_if<double>(&value)) return *real;
      if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
      return {};
    };
    Stated stated;
    stated.max = number(stats.max);
    stated.min = number(stats.min);
    stated.mean = number(stats.mean);
    stated.norm = number(stats.norm);
    return stated;
  }

  // Where each rank holds a part of what the other side holds whole.
  void join_rank_statistics(Side side, const ItemId& id, SideFacts& facts, const SideFacts& other) {
    const auto ranks = static_cast<int64_t>(matched_.item(side, id).shards.size());
    if (ranks < 2 || !facts.meta || !other.meta || facts.meta->shape.dims.empty()) return;
    if (facts.meta->shape.count() * ranks != other.meta->shape.count()) return;
    std::deque<Stated> stated;
    std::vector<StatedPart> parts;
    for (const auto& [stats, count] : loader_.load_shard_statistics(side, id))
      parts.push_back({&stated.emplace_back(as_stated(stats)), count});
    const auto joined = join_stated(parts);
    if (!joined) return;
    TensorMeta whole = *facts.meta;
    whole.shape.dims.back() *= ranks;
    facts.meta = std::move(whole);
    facts.computed = std::make_shared<const Stated>(*joined);
  }

  // What the dump says of a tensor, or else what its data say.
  static void find_statistics(SideFacts& side, const OperandPtr& data) {
    if (side.item->stated != nullptr || data == nullptr) return;
    const auto sums = gather_one(*data);
    if (!sums) return;
    const Stats stats = numpy_statistics(*sums, data->meta.dtype);
    side.computed = std::make_shared<const Stated>(as_stated(stats));
  }

  // Of all parts of golden together; the shape is theirs side by side.
  bool join_statistics(const GoldenParts& whole, SideFacts& golden) {
    std::vector<SideFacts> sides(whole.items.size());
    std::vector<StatedPart> parts;
    int64_t width = 0, last = 0;
    for (size_t i = 0; i < sides.size(); ++i) {
      sides[i].item = &matched_.item(Side::golden, whole.items[i]);
      OperandPtr data;
      if (sides[i].item->data)
        if (auto loaded = loader_.load(Side::golden, whole.items[i])) data = loaded->data;
      find_statistics(sides[i], data);
      const TensorMeta* const meta = data ? &data->meta : sides[i].item->meta;
      if (meta == nullptr) return false;
      parts.push_back({sides[i].stated(), meta->shape.count()});
      last = meta->shape.dims.empty() ? 1 : meta->shape.dims.back();
      width += last;
      if (i + 1 < sides.size() || last == 0) continue;
      golden.meta = TensorMeta{meta->dtype, Shape{{meta->shape.count() / last, width}}};
    }
    const auto joined = join_stated(parts);
    if (joined) golden.computed = std::make_shared<const Stated>(*joined);
    return joined.has_value();
  }

  // Where one side has no data, what both dumps say of the tensor is compared instead.
  void compare_stated(const OperandPtr& mine_data, const OperandPtr& golden_data, Comparison& row) {
    find_statistics(row.mine, mine_data);
    find_statistics(row.golden, golden_data);
    if (row.pair.golden_parts != nullptr && !join_statistics(*row.pair.golden_parts, row.golden)) return;
    join_rank_statistics(Side::mine, *row.pair.mine, row.mine, row.golden);
    join_rank_statistics(Side::golden, *row.pair.golden, row.golden, row.mine);
    const Stated *const mine = row.mine.stated(), *const golden = row.golden.stated();
    if (mine == nullptr || golden == nullptr) return;
    if (row.mine.meta && row.golden.meta && side_to_dequantise(*row.mine.meta, *row.golden.meta)) {
      refuse_int8(row, "statistics cannot be made real");
      return;
    }
    const bool is_tensor = row.mine.meta && row.golden.meta && row.golden.meta->shape.count() > 0;
    const auto says_nothing = [](const Stated& s) {
      return s.max.is_absent() && s.min.is_absent() && s.norm.is_absent() && s.checksum.empty();
    };
    row.basis = Basis::stated;
    row.metrics = metrics_.finish_stated(*mine, *golden);
    if (is_tensor && (says_nothing(*mine) || says_nothing(*golden))) {
      row.note = "neither data nor statistics to compare";
      return;
    }
    // Where one side was dumped with data, its absence deserves a word.
    if (is_tensor && dumped_with_data_)
      row.note += "; compared by statistics";
    else
      row.note.clear();
    row.status =
        row.mine.meta && row.golden.meta && !may_be_same(row.mine.meta->shape, row.golden.meta->shape)
            ? Status::shape_mismatch
            : Status::compared;
  }

  // Whether tensors of these shapes can have the same statistics. Inference engines drop and merge
  // dimensions.
  bool may_be_same(const Shape& mine, const Shape& golden) const {
    if (mine == golden) return true;
    const bool lenient = matched_.pairing.dequantises;
    return lenient && mine.count() == golden.count();
  }

  // ----- int8 against a real type

  std::optional<Side> side_to_dequantise(const TensorMeta& mine, const TensorMeta& golden) const {
    if (!matched_.pairing.dequantises) return std::nullopt;
    if (mine.dtype == DType::i8 && is_real(golden.dtype)) return Side::mine;
    if (golden.dtype == DType::i8 && is_real(mine.dtype)) return Side::golden;
    return std::nullopt;
  }

  static void refuse_int8(Comparison& row, std::string_view why) {
    row.status = Status::no_data;
    row.is_excused = true;
    const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
    row.note = fmt::format("int8 against {}: {}", name(mine == DType::i8 ? golden : mine), why);
  }

  // Every rank has factors of its own.
  Result<Spread> dequantise(Side side, const ItemId& id, const Spread& quantised) {
    const auto& sources = side == Side::mine ? quantised_mine_ : quantised_golden_;
    const auto factors = sources[static_cast<size_t>(id.frame)].find(id);
    if (!factors)
      return fail(ErrorKind::not_found, "the dump holds no scale and offset of {}",
                  matched_.item(side, id).name);
    const auto load = [&](const std::optional<ItemId>& factor) -> Result<OperandPtr> {
      if (!factor) return OperandPtr();
      ASSAY_TRY(Loaded loaded, loader_.load(side, *factor));
      return loaded.data;
    };
    ASSAY_TRY(const OperandPtr scale, load(factors->scale));
    ASSAY_TRY(const OperandPtr offset, load(factors->offset));
    Spread real{nullptr, quantised.ranks, {}};
    ASSAY_TRY(real.own, dequantized(quantised.own, scale, offset));
    real.shards = [this, side, id, factors]() -> Result<std::vector<OperandPtr>> {
      ASSAY_TRY(std::vector<OperandPtr> shards, loader_.load_shards(side, id));
      ASSAY_TRY(const std::vector<OperandPtr> scales, loader_.load_shards(side, factors->scale));
      std::vector<OperandPtr> offsets;
      if (factors->offset) {
        ASSAY_TRY(offsets, loader_.load_shards(side, *factors->offset));
      }
      if (scales.size() != shards.size() || (factors->offset && offsets.size() != shards.size()))
        return fail(ErrorKind::not_found, "not every rank holds the scale and offset of {}",
                    matched_.item(side, id).name);
      for (size_t i = 0; i < shards.size(); ++i) {
        ASSAY_TRY(shards[i], dequantized(shards[i], scales[i], offsets.empty() ? nullptr : offsets[i]));
      }
      return shards;
    };
    return real;
  }

  // Opens one side and notes what it is. A failure sets the status of the row; the first reason stays.
  OperandPtr take(Side side, const std::optional<ItemId>& id, SideFacts& facts, Comparison& row) {
    if (!id) return nullptr;
    const Item& item = matched_.item(side, *id);
    facts.name = item.name;
    facts.item = &item;
    facts.op_type = matched_.frames.frames(side)[static_cast<size_t>(id->frame)]
                        .nodes[static_cast<size_t>(id->node)]
                        .type;
    facts.meta = RowMeta(item.meta);
    if (const fs::path* file = loader_.file_of(side, *id))
      facts.file = *file;
    else if (item.described_in >= 0)
      facts.file = matched_.frames.frames(side)[static_cast<size_t>(id->frame)]
                       .files[static_cast<size_t>(item.described_in)]
                       .path;
    const auto refuse = [&](Status status, std::string why) {
      if (row.status == Status::compared) {
        row.status = status;
        row.note = std::move(why);
      }
      return nullptr;
    };
    if (!item.trouble.empty()) return refuse(Status::unreadable, std::string(item.trouble));
    if (!item.data)
      return refuse(Status::no_data,
                    fmt::format("{} has no data in {}", item.name, side == Side::mine ? "mine" : "golden"));
    auto loaded = loader_.load(side, *id);
    if (!loaded) return refuse(Status::unreadable, loaded.error().message);
    // A dump that describes its tensors names a file for each: what else is in it is not what was dumped.
    if (item.stated != nullptr && !item.stated->data_name.empty()) {
      if (loaded->tensors != 1)
        return refuse(Status::unreadable, fmt::format("{}: holds {} tensors where the dump has one",
                                                      display(facts.file), loaded->tensors));
      for (const std::string& warning : loaded->warnings)
        if (warning.find("refused") != std::string::npos) return refuse(Status::unreadable, warning);
    } else if (item.meta == nullptr) {  // else the file was opened, and has warned, while indexing
      for (const std::string& warning : loaded->warnings) log::warn("{}", warning);
    }
    if (row.pair.rope != nullptr) {
      auto angles = angles_of(side, *row.pair.rope, loaded->data);
      if (!angles) return refuse(Status::unreadable, angles.error().message);
      loaded->data = std::move(*angles);
    }
    if (side == Side::mine && row.pair.quantised != nullptr) {
      auto weight = dequantised(*row.pair.quantised, loaded->data);
      if (!weight) return refuse(Status::unreadable, weight.error().message);
      loaded->data = std::move(*weight);
    }
    const TensorMeta& found = loaded->data->meta;
    if (row.pair.rope == nullptr && item.meta != nullptr && item.meta->shape != found.shape)
      row.note = fmt::format("{} holds shape {} where the dump says {}", display(facts.file),
                             found.shape.text(), item.meta->shape.text());
    facts.meta = found;
    if (side_statistics_ == SideStatistics::own_type) {
      const auto side_sums = gather_one(*loaded->data);
      if (!side_sums) return refuse(Status::unreadable, side_sums.error().message);
      facts.measured = numpy_statistics(*side_sums, found.dtype);
    }
    return loaded->data;
  }

  Result<OperandPtr> dequantised(const QuantisedBy& by, OperandPtr weight) {
    OperandPtr factors[2];
    const ItemId ids[] = {by.offset, by.scale};
    for (size_t i = 0; i < 2; ++i) {
      ASSAY_TRY(const Loaded loaded, loader_.load(Side::mine, ids[i]));
      ASSAY_TRY(const auto view, broadcast_to(loaded.data, weight->meta.shape));
      if (!view)
        return fail(ErrorKind::mismatch, "{} of shape {} does not fit weights of shape {}",
                    matched_.item(Side::mine, ids[i]).name, loaded.data->meta.shape.text(),
                    weight->meta.shape.text());
      factors[i] = *view;
    }
    return affine(std::move(weight), std::move(factors[0]), std::move(factors[1]));
  }

  Result<OperandPtr> angles_of(Side side, const RopeRow& rope, OperandPtr data) {
    if (side == Side::mine) return without_repeated_columns(std::move(data));
    ASSAY_TRY(const Loaded length, loader_.load(Side::mine, rope.length));
    if (length.data->meta.shape.count() != 1) return data;  // of several sequences
    ASSAY_TRY(const OneSide value, gather_one(*length.data));
    constexpr double kLongest = 1e15;  // exact as a double
    if (!(value.min >= 1 && value.min <= kLongest)) return data;
    return row_of_angles(std::move(data), static_cast<int64_t>(value.min),
                         rope.is_sine ? Angles::sines : Angles::cosines);
  }

  Spread spread(Side side, const ItemId& id, OperandPtr own) {
    const size_t ranks = std::max<size_t>(1, matched_.item(side, id).shards.size());
    return {std::move(own), ranks, [this, side, id] { return loader_.load_shards(side, id); }};
  }

  // The parts of golden that one tensor of mine stands for, joined as it holds them.
  Result<std::optional<OperandPtr>> load_parts(const std::vector<ItemId>& ids, int64_t ranks) {
    std::vector<OperandPtr> parts;
    for (const ItemId& id : ids) {
      if (!matched_.item(Side::golden, id).data) return std::optional<OperandPtr>();
      ASSAY_TRY(Loaded part, loader_.load(Side::golden, id));
      parts.push_back(std::move(part.data));
    }
    return join_parts(std::move(parts), ranks);
  }

  Result<std::optional<Aligned>> align_pair(const Spread& of_mine, const Spread& of_golden,
                                            const Pair& pair) {
    AlignRules rules;
    rules.merge = has_trees_;
    rules.flatten = matched_.pairing.flattens;
    // A table that numbers its pairs is another tool's, which leaves such pairs out.
    rules.last_row = pair.why == Why::last_output && pair.number < 0;
    rules.repeat = matched_.pairing.repeats_batch;
    if (pair.golden_parts == nullptr) return align(of_mine, of_golden, rules);
    for (const int64_t ranks : {static_cast<int64_t>(of_mine.ranks), int64_t{1}}) {
      ASSAY_TRY(const auto whole, load_parts(pair.golden_parts->items, ranks));
      if (!whole) continue;
      ASSAY_TRY(auto done, align(of_mine, Spread{*whole, 1, {}}, rules));
      if (done || ranks == 1) return done;
    }
    return std::optional<Aligned>();
  }

  void align_and_gather(const OperandPtr& mine, const OperandPtr& golden, PairScratch& scratch,
                        Comparison& row) {
    Spread of_mine = spread(Side::mine, *row.pair.mine, mine);
    Spread of_golden = spread(Side::golden, *row.pair.golden, golden);
    if (const auto side = side_to_dequantise(mine->meta, golden->meta)) {
      Spread& quantised = *side == Side::mine ? of_mine : of_golden;
      auto real = dequantise(*side, *side == Side::mine ? *row.pair.mine : *row.pair.golden, quantised);
      if (!real) return refuse_int8(row, real.error().message);
      quantised = std::move(*real);
      add_note(row, fmt::format("int8 of {} made real by its scale and offset",
                                *side == Side::mine ? "mine" : "golden"));
    }
    auto aligned = align_pair(of_mine, of_golden, row.pair);
    if (!aligned) {
      row.status = Status::unreadable;
      row.note = aligned.error().message;
      return;
    }
    if (!*aligned) {
      row.status = Status::shape_mismatch;
      add_note(row, fmt::format("shape {} against {}", mine->meta.shape.text(), golden->meta.shape.text()));
      return;
    }
    if (row.pair.golden_parts != nullptr) row.golden.meta = (*aligned)->golden->meta;
    if (row.pair.golden_parts != nullptr)
      add_note(row, fmt::format("{} tensors of golden joined", row.pair.golden_parts->items.size()));
    if (!(*aligned)->note.empty()) add_note(row, (*aligned)->note);
    const bool is_whole = (*aligned)->mine == mine && (*aligned)->golden == golden;
    gather(*(*aligned)->mine, *(*aligned)->golden, is_whole, scratch, row);
  }

  // is_whole: these are the two tensors of the row, and nothing made of them.
  void gather(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
              Comparison& row) {
    if (is_complex(mine.meta.dtype) != is_complex(golden.meta.dtype)) {
      row.status = Status::unreadable;
      row.note = fmt::format("complex against real: {} and {}; convert one of them first",
                             name(mine.meta.dtype), name(golden.meta.dtype));
      return;
    }
    scratch.forget();
    const bool is_logits = row.pair.why == Why::last_output;
    const GatherMask needs = is_logits ? metrics_.needs : metrics_.needs & ~metrics_.only_of_logits;
    auto gathered = gather_parallel(mine, golden, needs, scratch, progress_);
    if (!gathered) {
      row.status = Status::unreadable;
      row.note = gathered.error().message;
      return;
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
  }

  const Matched& matched_;
  const MetricPlan& metrics_;
  Loader loader_;
  Progress& progress_;
  const SideStatistics side_statistics_;
  bool dumped_with_data_ = false;
  // Dumps of operators on both sides: two systems may lay out the same tensor with other dimensions.
  bool has_trees_ = true;
  std::vector<QuantSources> quantised_mine_, quantised_golden_;  // by frame, where they are asked for
};

}  // namespace

Result<void> measure(const Matched& matched, const MetricPlan& metrics, const FormatOptions& options,
                     const RowFlow& flow, bool one_by_one, Progress& progress,
                     SideStatistics side_statistics) {
  Measurer measurer(matched, metrics, options, progress, side_statistics);
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
    batch->rendered = flow.judge_and_render(batch->nodes);
    return batch;
  };
  const auto write = [&](const BatchPtr& batch) {
    if (stop || cancelled()) return;
    const auto go_on = flow.write(batch->nodes, std::move(batch->rendered));
    if (!go_on) error = go_on.error();
    if (!go_on || !*go_on) stop = true;
  };
  tbb::parallel_pipeline(static_cast<size_t>(tbb::this_task_arena::max_concurrency()) * 2,
                         tbb::make_filter<void, BatchPtr>(tbb::filter_mode::serial_in_order, next_batch) &
                             tbb::make_filter<BatchPtr, BatchPtr>(tbb::filter_mode::parallel, work) &
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
        bytes +=
            loader.size_of_item(Side::mine, *pair.mine) + loader.size_of_item(Side::golden, *pair.golden);
  return bytes;
}

}  // namespace assay
