#include "assay/golden/collectives.h"

#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/families.h"
#include "assay/golden/sums.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cfloat>
#include <limits>
#include <mutex>

namespace assay {
namespace {

// Every rank finds the same fault, whichever it is that looks.
Result<void> check_alike(const Operand& first, const Operand& input, int rank) {
  if (input.meta == first.meta) return {};
  return fail(ErrorKind::mismatch, "rank {} has {} {} where rank 0 has {} {}", rank, name(input.meta.dtype),
              input.meta.shape.text(), name(first.meta.dtype), first.meta.shape.text());
}

}  // namespace

Result<Ranks> ranks_of(const GoldenCall& call) {
  ASSAY_TRY(const int64_t size, call.params.integer({"rankSize"}));
  ASSAY_TRY(const int64_t own, call.params.integer({"rank"}));
  ASSAY_TRY(const int64_t root, call.params.integer({"rankRoot"}));
  if (size < 1 || size > kMostRanks)
    return fail(ErrorKind::bad_argument, "the parameter rankSize is {}, which is not between 1 and {}", size,
                kMostRanks);
  if (own < 0 || own >= size || root < 0 || root >= size)
    return fail(ErrorKind::bad_argument, "rank {} and rankRoot {} are not below rankSize {}", own, root,
                size);
  return Ranks{static_cast<int>(own), static_cast<int>(size), static_cast<int>(root)};
}

Result<std::vector<OperandPtr>> inputs_of_rank(const GoldenCall& call, int rank, int own) {
  if (rank == own) return call.in;
  const auto missing = [&] {
    return fail(ErrorKind::not_found, "Cannot find data on rank {}! {} needs tensors on all devices!", rank,
                call.type);
  };
  if (!call.in_of_rank) return missing();
  auto inputs = call.in_of_rank(rank);
  if (!inputs && inputs.error().kind != ErrorKind::not_found) return inputs;
  if (!inputs || inputs->empty() || std::ranges::find(*inputs, nullptr) != inputs->end()) return missing();
  return inputs;
}

namespace {

// The first inputs of all ranks, of one type and shape.
Result<std::vector<OperandPtr>> first_inputs(const GoldenCall& call, const Ranks& ranks) {
  std::vector<OperandPtr> parts;
  for (int rank = 0; rank < ranks.size; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, inputs_of_rank(call, rank, ranks.own));
    parts.push_back(inputs[0]);
    ASSAY_TRY_DO(check_alike(*parts[0], *parts.back(), rank));
  }
  return parts;
}

// Made once for all ranks, where the call knows how.
Result<Expected> of_all_ranks(const GoldenCall& call, const Ranks& ranks,
                              const std::function<Result<Expected>()>& make) {
  return call.of_all_ranks ? call.of_all_ranks(ranks.size, make) : make();
}

// The first inputs on a new first dimension.
Result<Expected> stacked(const GoldenCall& call, const Ranks& ranks) {
  return of_all_ranks(call, ranks, [&]() -> Result<Expected> {
    ASSAY_TRY(std::vector<OperandPtr> parts, first_inputs(call, ranks));
    Shape shape = parts[0]->meta.shape;
    shape.dims.insert(shape.dims.begin(), 1);
    for (OperandPtr& part : parts) part = reshaped(std::move(part), shape);
    ASSAY_TRY(OperandPtr all, concatenated(std::move(parts), 0));
    return exactly(std::move(all));
  });
}

Result<GoldenOutputs> compute_all_gather(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(Expected all, stacked(call, ranks));
  return GoldenOutputs{std::move(all)};
}

Result<GoldenOutputs> compute_broadcast(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const int64_t root, call.params.integer({"rankRoot"}));
  ASSAY_TRY(const int64_t own, call.params.integer_or({"rank"}, call.rank));
  if (root < 0 || root >= kMostRanks)
    return fail(ErrorKind::bad_argument, "the parameter rankRoot is {}, which is no rank", root);
  ASSAY_TRY(const std::vector<OperandPtr> inputs,
            inputs_of_rank(call, static_cast<int>(root),
                           static_cast<int>(std::clamp<int64_t>(own, 0, kMostRanks))));
  return GoldenOutputs{exactly(inputs[0])};
}

// Each rank gets as many elements of each; transposed: columns instead.
Result<GoldenOutputs> compute_all_to_all(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const bool is_transposed, call.params.flag_or({"transpose"}, false));
  const Shape& shape = shape_of(call, 0);
  if (is_transposed) ASSAY_TRY_DO(check_rank(call, 0, 2));
  const int64_t extent = is_transposed ? shape.dims[1] : shape.count();
  if (extent % ranks.size != 0)
    return fail(ErrorKind::mismatch, "{} cannot be shared out among {} ranks", shape.text(), ranks.size);
  const int64_t share = extent / ranks.size;
  ASSAY_TRY(const Expected all, stacked(call, ranks));
  const int64_t rows = is_transposed ? ranks.size * shape.dims[0] : ranks.size;
  ASSAY_TRY(OperandPtr own, sliced(reshaped(all.value, Shape{{rows, extent}}), 1, ranks.own * share, share));
  return GoldenOutputs{exactly(is_transposed ? std::move(own) : reshaped(std::move(own), shape))};
}

// ----- what is computed over the ranks

}  // namespace

Result<Fold> fold_of(const GoldenCall& call, std::string_view key) {
  ASSAY_TRY(const std::string word, call.params.text({key}));
  if (word == "sum") return Fold::sum;
  if (word == "prod") return Fold::product;
  if (word == "max") return Fold::largest;
  if (word == "min") return Fold::smallest;
  return fail(ErrorKind::bad_argument, "the parameter {} is {}, which is none of sum, max, min, prod", key,
              word);
}

namespace {

// The largest number of a type, and the smallest that has all its bits.
struct Limits {
  double largest = INFINITY, smallest = 0;
};

Limits limits_of(DType dtype) {
  if (is_whole_type(dtype)) {
    const int bits =
        static_cast<int>(info(dtype).storage_bits) - (info(dtype).kind == DTypeKind::integer ? 1 : 0);
    return {std::ldexp(1.0, std::min(bits, 53)) - 1, 0};
  }
  switch (dtype) {
    case DType::f16:
      return {65504, 0x1p-14};
    case DType::bf16:
      return {0x1.fep127, 0x1p-126};
    case DType::f32:
      return {0x1.fffffep127, 0x1p-126};
    case DType::f64:
      return {DBL_MAX, DBL_MIN};
    default:
      return {};
  }
}

// One element of each rank in turn, rounded between the steps in whatever order they are taken.
class Folded {
 public:
  explicit Folded(Fold fold) : fold_(fold) {}

  void add(double x) {
    has_nan_ = has_nan_ || std::isnan(x);
    if (steps_++ == 0)
      value_ = x;
    else if (fold_ == Fold::sum)
      value_ += x;
    else if (fold_ == Fold::product)
      value_ *= x;
    else
      value_ = fold_ == Fold::largest ? std::max(value_, x) : std::min(value_, x);
    above_ += std::max(x, 0.0);
    below_ -= std::min(x, 0.0);
    size_ *= std::max(std::abs(x), 1.0);
    small_ *= std::min(std::abs(x), 1.0);
  }
  double value() const { return has_nan_ ? std::numeric_limits<double>::quiet_NaN() : value_; }
  // Whether every order of the steps stays among the numbers that the type has. One partial result beyond
  // them would stay there, and another order has none such.
  bool fits(const Limits& limits) const {
    if (!std::isfinite(value()) || (fold_ != Fold::sum && fold_ != Fold::product)) return true;
    if (fold_ == Fold::sum) return std::max(above_, below_) <= limits.largest;
    return size_ <= limits.largest && (value_ == 0 || small_ >= limits.smallest);
  }
  // All steps but the last are rounded on the way.
  double error(double u, bool rounds_last) const {
    const int64_t rounded = std::max<int64_t>(steps_ - (rounds_last ? 2 : 1), 0);
    if (fold_ != Fold::sum && fold_ != Fold::product) return 0;
    const double size = fold_ == Fold::sum ? std::max(above_, below_) : std::abs(value_);
    return std::min(static_cast<double>(rounded), 4 * std::sqrt(static_cast<double>(rounded))) * u * size;
  }

 private:
  Fold fold_;
  int64_t steps_ = 0;
  double value_ = 0, above_ = 0, below_ = 0, size_ = 1, small_ = 1;
  bool has_nan_ = false;
};

// The inputs of all ranks, of one type and shape. A rank's inputs all count, if there are several.
Result<std::vector<OperandPtr>> all_inputs(const GoldenCall& call, const Ranks& ranks) {
  std::vector<OperandPtr> all;
  for (int rank = 0; rank < ranks.size; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, inputs_of_rank(call, rank, ranks.own));
    for (const OperandPtr& input : inputs) {
      all.push_back(input);
      ASSAY_TRY_DO(check_alike(*all[0], *input, rank));
    }
  }
  return all;
}

}  // namespace

Result<Expected> folded(const GoldenCall& call, const std::vector<OperandPtr>& inputs, Fold fold) {
  const DType dtype = inputs[0]->meta.dtype;
  if (is_complex(dtype)) return fail(ErrorKind::mismatch, "a complex input is not computed with");
  const Shape& shape = inputs[0]->meta.shape;
  ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape));
  const int64_t count = shape.count();
  if (count > call.memory / static_cast<int64_t>(2 * sizeof(double)))
    return fail(ErrorKind::limit, "a tensor of shape {} needs more than the {} MiB that --memory allows",
                shape.text(), call.memory >> 20);
  Numbers out{shape, std::vector<double>(static_cast<size_t>(count))};
  std::vector<float> allowed(static_cast<size_t>(count));
  const Limits limits = limits_of(dtype);
  const double u = unit_roundoff(dtype);
  std::mutex mutex;
  Result<void> outcome;
  const auto fold_block = [&](int64_t first, std::vector<Scratch>& scratches) -> Result<void> {
    const auto some = static_cast<size_t>(std::min(kBlockElements, count - first));
    std::vector<Folded> results(some, Folded(fold));
    std::vector<double> part(some);
    for (size_t k = 0; k < inputs.size(); ++k) {
      ASSAY_TRY(const Block block, inputs[k]->block(first, std::ssize(part), scratches[k]));
      to_f64(block.dtype, block.data, block.count, part.data());
      for (size_t i = 0; i < some; ++i) results[i].add(part[i]);
    }
    for (size_t i = 0; i < some; ++i) {
      const size_t at = static_cast<size_t>(first) + i;
      out.values[at] = results[i].value();
      allowed[at] = as_allowed(results[i].error(u, dtype != DType::f64));
      known.bytes[at] = std::byte{results[i].fits(limits)};
    }
    return {};
  };
  in_parallel((count + kBlockElements - 1) / kBlockElements, kBlockElements * std::ssize(inputs),
              [&](int64_t first, int64_t last) {
                std::vector<Scratch> scratches(inputs.size());
                for (int64_t block = first; block < last; ++block)
                  if (auto done = fold_block(block * kBlockElements, scratches); !done) {
                    const std::scoped_lock lock(mutex);
                    outcome = std::move(done);
                  }
              });
  if (!outcome) return tl::unexpected(outcome.error());
  const bool is_all_known = std::ranges::find(known.bytes, std::byte{0}) == known.bytes.end();
  Expected result = expected(dtype, std::move(out), std::move(allowed));
  if (!is_all_known) {
    result.known = operand_of(std::move(known));
    result.note = "in another order of the ranks a partial result leaves the type";
  }
  return result;
}

namespace {

Result<Expected> folded_ranks(const GoldenCall& call, const Ranks& ranks, Fold fold) {
  return of_all_ranks(call, ranks, [&]() -> Result<Expected> {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, all_inputs(call, ranks));
    return folded(call, inputs, fold);
  });
}

// Some of it along the first dimension.
Result<Expected> share_of(Expected all, int64_t first, int64_t count) {
  for (OperandPtr* const part : {&all.value, &all.allowed, &all.known}) {
    if (*part == nullptr) continue;
    ASSAY_TRY(*part, sliced(*part, 0, first, count));
  }
  return all;
}

// in: int8 tensor, scale and offset of it, [1] or one for each column
Result<GoldenOutputs> dequantized_sum(const GoldenCall& call, const Ranks& ranks) {
  ASSAY_TRY_DO(check_given(call, 3, 3));
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const Numbers scale_given, numbers_of(call, 1));
  ASSAY_TRY(const Numbers offset_given, numbers_of(call, 2));
  ASSAY_TRY(const Numbers scale, broadcast(scale_given, shape));
  ASSAY_TRY(const Numbers offset, broadcast(offset_given, shape));
  Numbers sum{shape, std::vector<double>(scale.values.size(), 0)};
  std::vector<double> sizes(sum.values.size(), 0);
  ASSAY_TRY(const std::vector<OperandPtr> parts, first_inputs(call, ranks));
  for (const OperandPtr& part : parts) {
    ASSAY_TRY(const Numbers data, numbers_of(*part, call.memory));
    for (size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] += (data.values[i] + offset.values[i]) * scale.values[i];
      sizes[i] += (std::abs(data.values[i]) + std::abs(offset.values[i])) * std::abs(scale.values[i]);
    }
  }
  // Each rank may scale its own, in f16, before they are added up.
  std::vector<float> allowed;
  const double u = unit_roundoff(DType::f16);
  const double roundings = 2 * std::min<double>(ranks.size, 4 * std::sqrt(ranks.size));
  for (const double size : sizes) allowed.push_back(as_allowed(roundings * u * size));
  return GoldenOutputs{expected(DType::f16, std::move(sum), std::move(allowed))};
}

Result<GoldenOutputs> compute_all_reduce(const GoldenCall& call) {
  constexpr int64_t kQuantTypes[] = {0, 1, 2};
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const Fold fold, fold_of(call, "allReduceType"));
  ASSAY_TRY(const int64_t quant, call.params.choice_or({"quantType"}, 0, kQuantTypes));
  ASSAY_TRY_DO(check_given(call, 1, kMostRanks));
  if (quant != 0) {
    if (fold != Fold::sum) return fail(ErrorKind::bad_argument, "quantType {} goes with sum only", quant);
    return dequantized_sum(call, ranks);
  }
  ASSAY_TRY(Expected result, folded_ranks(call, ranks, fold));
  return GoldenOutputs{std::move(result)};
}

Result<GoldenOutputs> compute_reduce_scatter(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const Fold fold, fold_of(call, "reduceType"));
  const Shape& shape = shape_of(call, 0);
  if (shape.dims.empty() || shape.dims[0] % ranks.size != 0)
    return fail(ErrorKind::mismatch, "{} cannot be shared out among {} ranks", shape.text(), ranks.size);
  const int64_t share = shape.dims[0] / ranks.size;
  ASSAY_TRY(const Expected all, folded_ranks(call, ranks, fold));
  ASSAY_TRY(Expected own, share_of(all, ranks.own * share, share));
  return GoldenOutputs{std::move(own)};
}

constexpr GoldenOp kCollectives[] = {
    {"AllGatherOperation", compute_all_gather, "the tensors of all ranks, stacked"},
    {"AllGatherVOperation", golden_all_gather_v, "the tensors of all ranks, each where it is told to lie"},
    {"AllReduceOperation", compute_all_reduce, "sum, product, largest or smallest over the ranks"},
    {"AllToAllOperation", compute_all_to_all, "this rank's share of the tensors of all ranks"},
    {"AllToAllVOperation", golden_all_to_all_v,
     "what the parameters of each rank say that it sends to this one"},
    {"AllToAllVV2Operation", golden_all_to_all_vv2, "what each rank sends to this one"},
    {"BroadcastOperation", compute_broadcast, "the tensor of the root rank"},
    {"RecvOperation", golden_receive, "what the matching Send of another rank was given"},
    {"ReduceScatterOperation", compute_reduce_scatter, "this rank's share of what AllReduce gives"},
    {"ReduceScatterVOperation", golden_reduce_scatter_v, "the same, of shares that are told"},
    {"SendOperation",
     golden_send,
     "nothing comes out of it: what it sends is checked where it is received",
     {},
     "nothing comes out of it: what it sends is checked where it is received"},
};

}  // namespace

GoldenFamily golden_collectives() { return kCollectives; }

}  // namespace assay
