#include "assay/run/compare/plan_runner.h"

#include "assay/base/checked.h"
#include "assay/run/compare/expert_rows.h"
#include "assay/run/compare/rope.h"
#include "assay/run/compare/unpadded.h"
#include "assay/tensor/affine.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/dequantized.h"
#include "assay/tensor/extremes.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

using Operands = std::vector<OperandPtr>;
using OnOneRank = std::function<Result<OperandPtr>(const Operands& in)>;

// The same on every rank, each with what it holds itself. What a side holds once serves all ranks.
Spread on_every_rank(std::vector<Spread> in, const Operands& own, OnOneRank act, OperandPtr of_own) {
  const size_t ranks = in.front().ranks;
  Spread made{std::move(of_own), ranks};
  if (ranks > 1)
    made.shard = [in = std::move(in), own, act = std::move(act), ranks](size_t rank) -> Result<OperandPtr> {
      Operands of_rank;
      for (size_t i = 0; i < in.size(); ++i) {
        if (in[i].ranks != ranks && in[i].ranks != 1)
          return fail(ErrorKind::not_found, "{} of {} ranks hold what is needed beside the tensor: its scale",
                      in[i].ranks, ranks);
        ASSAY_TRY(OperandPtr operand, in[i].ranks == 1 ? Result<OperandPtr>(own[i]) : in[i].shard(rank));
        of_rank.push_back(std::move(operand));
      }
      return act(of_rank);
    };
  return made;
}

// Two elements, of the same type. Of nothing, as numpy has it, NaN; where the type has none, in f64.
Result<OperandPtr> extremes_of(const Operand& data) {
  ASSAY_TRY(const Extremes found, gather_extremes(data));
  const DType dtype = is_real(found.dtype) || !found.is_empty ? found.dtype : DType::f64;
  const auto size = static_cast<size_t>(size_of(dtype));
  std::vector<std::byte> bytes(2 * size);
  if (found.is_empty) {
    const double nothing[] = {NAN, NAN};
    from_f64(dtype, nothing, 2, bytes.data());
  } else {
    std::memcpy(bytes.data(), found.min.data(), size);
    std::memcpy(bytes.data() + size, found.max.data(), size);
  }
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{2}}});
}

OperandPtr one_number(double value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return dense_in_memory(std::move(bytes), TensorMeta{DType::f64, Shape{{1}}});
}

Result<OperandPtr> cut(const OperandPtr& whole, int64_t dimension, int64_t first, int64_t count) {
  if (whole->meta.shape.dims.empty()) return fail(ErrorKind::mismatch, "one number cannot be cut");
  const size_t last = whole->meta.shape.dims.size() - 1;
  return sliced(whole, dimension < 0 ? last : std::min(static_cast<size_t>(dimension), last), first, count);
}

Result<OperandPtr> unstack(const OperandPtr& stacked) {
  const std::vector<int64_t>& dims = stacked->meta.shape.dims;
  // Where there is no element, the extents of the other dimensions may be anything, and their product too.
  if (dims.size() < 2 || stacked->meta.shape.count() == 0) return stacked;
  const int64_t ranks = dims.front(), columns = dims.back();
  const int64_t rows = stacked->meta.shape.count() / (ranks * columns);
  ASSAY_TRY(OperandPtr side_by_side,
            strided(stacked, Shape{{rows, ranks, columns}}, {columns, rows * columns, 1}, 0));
  return reshaped(std::move(side_by_side), Shape{{rows, ranks * columns}});
}

Result<OperandPtr> dequantise(const Operands& in, const std::vector<double>& numbers) {
  if (numbers.empty()) return dequantized(in[0], in[1], in.size() > 2 ? in[2] : nullptr);
  return dequantized(in[0], one_number(1 / numbers[0]), one_number(numbers[1]));
}

using Names = std::vector<std::string_view>;  // of operands that are items of a dump; others have none

Result<OperandPtr> rescale(const Operands& in, const Names& names) {
  OperandPtr factors[2];
  for (size_t i = 0; i < 2; ++i) {
    const OperandPtr& factor = in[i + 1];
    ASSAY_TRY(const auto view, broadcast_to(factor, in[0]->meta.shape));
    if (!view)
      return fail(ErrorKind::mismatch, "{} of shape {} does not fit weights of shape {}", names[i + 1],
                  factor->meta.shape.text(), in[0]->meta.shape.text());
    factors[i] = *view;
  }
  return affine(in[0], std::move(factors[0]), std::move(factors[1]));
}

Result<OperandPtr> view(const OperandPtr& source, const std::vector<int64_t>& args) {
  const auto dims = static_cast<ptrdiff_t>((args.size() - 1) / 2);
  const auto begin = args.begin() + 1;
  return strided(source, Shape{{begin, begin + dims}}, {begin + dims, args.end()}, args[0]);
}

Result<OperandPtr> laid_behind_each_other(const Operands& in) {
  Operands flat;
  for (const OperandPtr& each : in) flat.push_back(reshaped(each, Shape{{each->meta.shape.count()}}));
  return concatenated(std::move(flat), 0);
}

Result<OperandPtr> reshape(const OperandPtr& source, const std::vector<int64_t>& dims) {
  Shape shape{dims};
  if (shape.count() != source->meta.shape.count())
    return fail(ErrorKind::mismatch, "holds shape {} now where {} was found; did the file change?",
                source->meta.shape.text(), shape.text());
  return reshaped(source, std::move(shape));
}

// One of several that a projection gives at once: [rows, q | k | v], or [rows, heads of q | k | v].
// Keys and values that each rank holds whole are not as wide as their shares together.
Result<OperandPtr> part_of(const OperandPtr& whole, const std::vector<int64_t>& args) {
  const std::vector<int64_t>& dims = whole->meta.shape.dims;
  if (dims.empty() || whole->meta.shape.count() == 0) return whole;
  const auto which = static_cast<size_t>(args[0]);
  const int64_t ranks = args[2], heads = args[3];
  const std::span<const int64_t> widths = std::span(args).subspan(4);
  const size_t axis = args[1] < 0 ? dims.size() - 1 : std::min(static_cast<size_t>(args[1]), dims.size() - 1);
  const int64_t width = dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t outer = whole->meta.shape.count() / (width * inner);
  if (heads > 0) {
    const auto count = static_cast<int64_t>(widths.size());
    if (heads > width || width % heads != 0 || width / heads % count != 0) return whole;
    const int64_t own = width / heads / count;
    ASSAY_TRY(OperandPtr view,
              strided(whole, Shape{{outer, heads, own, inner}},
                      {width * inner, count * own * inner, inner, 1}, args[0] * own * inner));
    std::vector<int64_t> shape = dims;
    shape[axis] = heads * own;
    return reshaped(std::move(view), Shape{shape});
  }
  for (const bool are_shares : {true, false}) {
    int64_t total = 0, first = 0, count = 0;
    for (size_t i = 0; i < widths.size(); ++i) {
      const auto own = checked_multiply(widths[i], are_shares || i == 0 ? ranks : 1);
      const auto next = own ? checked_add(total, *own) : std::nullopt;
      if (!next) return whole;
      if (i == which) first = total, count = *own;
      total = *next;
    }
    if (total == width) return sliced(whole, axis, first, count);
  }
  return whole;
}

// As many as there are sequences; nothing where that cannot be told.
Result<std::vector<int64_t>> lengths_in(const Operand& data) {
  constexpr int64_t kMostSequences = 1024;
  constexpr double kLongest = 1e15;  // exact as a double
  const TensorMeta& meta = data.meta;
  const int64_t count = meta.shape.count();
  std::vector<int64_t> lengths;
  if (count > kMostSequences || is_complex(meta.dtype)) return lengths;
  ASSAY_TRY(const std::vector<std::byte> bytes, read_whole(data, count * size_of(meta.dtype)));
  std::vector<double> values(static_cast<size_t>(count));
  to_f64(meta.dtype, bytes.data(), count, values.data());
  for (const double value : values) {
    if (!(value >= 1 && value <= kLongest)) return std::vector<int64_t>();
    lengths.push_back(static_cast<int64_t>(value));
  }
  return lengths;
}

bool takes_angles(PlanOp op) { return op == PlanOp::angles || op == PlanOp::last_angles; }

Result<TakenAngles> angles(const PlanStep& step, const Operands& in) {
  const Angles which = step.args[kAreSines] != 0 ? Angles::sines : Angles::cosines;
  ASSAY_TRY(const std::vector<int64_t> seen, lengths_in(*in[1]));
  if (step.op == PlanOp::angles) return rows_of_angles(in[0], seen, step.args[kPositionsAtHand], which);
  if (seen.size() != 1) return TakenAngles{in[0]};  // of several sequences
  return row_of_angles(in[0], seen[0], which);
}

Result<OperandPtr> act(const PlanStep& step, const Operands& in, const Names& names) {
  switch (step.op) {
    case PlanOp::cut:
      return cut(in[0], step.args[kCutDimension], step.args[kCutFirst], step.args[kCutCount]);
    case PlanOp::angles:
    case PlanOp::last_angles: {
      ASSAY_TRY(TakenAngles taken, angles(step, in));
      return std::move(taken.rows);
    }
    case PlanOp::single_angles: {
      const std::vector<int64_t>& dims = in[0]->meta.shape.dims;
      return dims.size() == 2 && dims[0] == 1 ? without_repeated_columns(in[0]) : in[0];
    }
    case PlanOp::dequantise:
      return dequantise(in, step.numbers);
    case PlanOp::rescale:
      return rescale(in, names);
    case PlanOp::extremes:
      return extremes_of(*in[0]);
    case PlanOp::unstack:
      return unstack(in[0]);
    case PlanOp::view:
      return view(in[0], step.args);
    case PlanOp::concat:
      return laid_behind_each_other(in);
    case PlanOp::reshape:
      return reshape(in[0], step.args);
    case PlanOp::unpad:
      return unpadded(in[0], Shape{step.args});
    case PlanOp::last_rows: {
      ASSAY_TRY(const auto rows, last_rows(in[0], step.args[0]));
      return rows.value_or(in[0]);
    }
    case PlanOp::part:
      return part_of(in[0], step.args);
    case PlanOp::experts: {
      const auto experts = static_cast<size_t>(step.args[0]);
      const std::span<const OperandPtr> all = in;
      const bool are_told = in.size() > experts;
      return rows_of_experts(all.first(experts), all.subspan(experts, are_told ? experts : 0),
                             are_told ? in.back() : nullptr);
    }
    case PlanOp::join:
    case PlanOp::weight:
    case PlanOp::add_ranks:
    case PlanOp::golden:
      break;  // for the alignment to do, or for one who runs operators
  }
  return in[0];
}

}  // namespace

Spread PlanRunner::spread(Side side, const ItemId& id, OperandPtr own) const {
  Spread spread{std::move(own), std::max<size_t>(1, frames_.item(side, id).shards().size())};
  spread.shard = [this, side, id, meta = spread.own->meta](size_t rank) -> Result<OperandPtr> {
    ASSAY_TRY(OperandPtr shard, loader_.load_shard(side, id, rank));
    if (shard->meta == meta) return shard;
    // Neither shares of one tensor nor copies of it: to make them fit would hide that a rank went astray.
    const std::span<const TensorRef> shards = frames_.item(side, id).shards();
    const auto file = static_cast<size_t>(shards[rank].file);
    return fail(shard->meta.shape == meta.shape ? ErrorKind::bad_format : ErrorKind::mismatch,
                "{}: rank {} of {} holds {} {} where another one holds {} {}",
                display(frames_.frame(side, id).files[file].path), rank + 1, shards.size(),
                name(shard->meta.dtype), shard->meta.shape.text(), name(meta.dtype), meta.shape.text());
  };
  return spread;
}

Result<Spread> PlanRunner::load(const PlanSource& source) const {
  const Item& item = frames_.item(source.side, source.item);
  if (!item.trouble.empty()) return fail(ErrorKind::bad_format, "{}", item.trouble);
  if (!item.data) return fail(ErrorKind::not_found, "{} has no data", item.name);
  ASSAY_TRY(Loaded loaded, loader_.load(source.side, source.item));
  return spread(source.side, source.item, std::move(loaded.data));
}

Result<Made> PlanRunner::run_golden(const Plan& plan, const OperandPtr& output) const {
  ASSAY_TRY(Expected expected, golden_->run(plan, plan.steps.front()));
  Made made;
  made.expected = std::make_shared<const Expected>(std::move(expected));
  if (made.expected->value->meta.shape.count() == output->meta.shape.count())
    made.parts.push_back({as_written(*made.expected, output)});
  else
    made.parts.push_back({made.expected->value});
  return made;
}

Result<Made> PlanRunner::run(const Plan& plan, OperandPtr first) const {
  if (plan.has(PlanOp::golden)) return run_golden(plan, first);
  std::vector<Spread> operands;
  for (const PlanSource& source : plan.from) {
    if (operands.empty()) {
      operands.push_back(spread(source.side, source.item, first));
      continue;
    }
    ASSAY_TRY(Spread loaded, load(source));
    operands.push_back(std::move(loaded));
  }
  Made made;
  for (const PlanStep& step : plan.steps) {
    std::vector<Spread> in;
    for (const int32_t operand : step.in) in.push_back(operands[static_cast<size_t>(operand)]);
    if (step.op == PlanOp::join) {
      made.dimension = step.args[kJoinDimension];
      made.parts = std::move(in);
      operands.emplace_back();
      continue;
    }
    if (step.op == PlanOp::weight) {
      made.is_weight = true;
      made.may_be_transposed = step.args[kMayBeTransposed] != 0;
      made.is_transposed = step.args[kIsTransposed] != 0;
      operands.push_back(in.front());
      continue;
    }
    if (step.op == PlanOp::add_ranks) {
      made.adds_ranks = true;
      operands.push_back(in.front());
      continue;
    }
    if (step.op == PlanOp::dequantise) made.quantised = std::make_shared<const Spread>(in.front());
    made.is_angles |= step.op == PlanOp::angles;
    Operands own;
    Names names;
    for (size_t i = 0; i < in.size(); ++i) {
      own.push_back(in[i].own);
      const auto operand = static_cast<size_t>(step.in[i]);
      names.push_back(operand < plan.from.size()
                          ? frames_.item(plan.from[operand].side, plan.from[operand].item).name
                          : std::string_view());
    }
    OperandPtr of_own;
    if (takes_angles(step.op)) {
      ASSAY_TRY(TakenAngles taken, angles(step, own));
      of_own = std::move(taken.rows);
      made.positions = taken.positions;
      in[1].ranks = 1;  // the lengths that the other run saw say nothing of its ranks
    } else {
      ASSAY_TRY(of_own, act(step, own, names));
    }
    if (step.op == PlanOp::last_rows)
      made.positions = {as_rows(of_own->meta.shape).dims[0], as_rows(own[0]->meta.shape).dims[0]};
    operands.push_back(on_every_rank(
        std::move(in), own, [step, names](const Operands& each) { return act(step, each, names); },
        std::move(of_own)));
  }
  if (made.parts.empty()) made.parts.push_back(std::move(operands.back()));
  return made;
}

}  // namespace assay
