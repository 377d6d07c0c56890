// Collectives that are told how much of a tensor each rank sends and where it lies, counted in elements. The
// last input only has an extent: the first one of the output.
#include "assay/golden/collectives.h"

#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// A run of elements of a flat tensor.
struct CountedShare {
  int64_t first = 0, count = 0;
};

// One for each rank; they lie within `room` elements. `what` are the two lists, for messages.
Result<std::vector<CountedShare>> shares_in(std::span<const int64_t> counts, std::span<const int64_t> places,
                                            std::string_view what, int ranks, int64_t room) {
  if (std::ssize(counts) != ranks || std::ssize(places) != ranks)
    return fail(ErrorKind::mismatch, "{} have {} and {} numbers for {} ranks", what, counts.size(),
                places.size(), ranks);
  std::vector<CountedShare> shares;
  for (size_t i = 0; i < counts.size(); ++i) {
    const CountedShare share{places[i], counts[i]};
    if (share.first < 0 || share.count < 0 || share.first > room || share.count > room - share.first)
      return fail(ErrorKind::mismatch, "{} elements from {} on, of rank {}, leave the {} there are",
                  share.count, share.first, i, room);
    shares.push_back(share);
  }
  return shares;
}

// Those that two inputs tell.
Result<std::vector<CountedShare>> shares_of(const GoldenCall& call, size_t counts, size_t places, int ranks,
                                            int64_t room) {
  ASSAY_TRY(const Integers count, integers_of(call, counts));
  ASSAY_TRY(const Integers place, integers_of(call, places));
  return shares_in(count.values, place.values, fmt::format("inputs {} and {}", counts, places), ranks, room);
}

// Those that two parameters tell.
Result<std::vector<CountedShare>> told_shares(const GoldenParams& params, std::string_view counts,
                                              std::string_view places, int ranks, int64_t room) {
  ASSAY_TRY(const std::vector<int64_t> count, params.integers({counts}));
  ASSAY_TRY(const std::vector<int64_t> place, params.integers({places}));
  return shares_in(count, place, fmt::format("the parameters {} and {}", counts, places), ranks, room);
}

// The output, of which shares are written, and which elements those are.
struct Written {
  Elements elements, known;

  static Result<Written> make(const GoldenCall& call, const Shape& shape) {
    ASSAY_TRY(Elements elements, zero_elements(call, dtype_of(call, 0), shape));
    ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape));
    return Written{std::move(elements), std::move(known)};
  }
  Result<void> write(const Operand& from, const CountedShare& source, const CountedShare& target) {
    Scratch scratch;
    for (int64_t done = 0; done < source.count; done += kBlockElements) {
      const int64_t n = std::min(kBlockElements, source.count - done);
      ASSAY_TRY(const Block block, from.block(source.first + done, n, scratch));
      const std::span<const std::byte> bytes = block.bytes();
      std::memcpy(elements.at(target.first + done), bytes.data(), bytes.size());
      std::memset(known.at(target.first + done), 1, static_cast<size_t>(n));
    }
    return {};
  }
  GoldenOutputs take() {
    const bool is_whole = std::ranges::find(known.bytes, std::byte{0}) == known.bytes.end();
    Expected out = exactly(std::move(elements));
    if (!is_whole) {
      out.known = operand_of(std::move(known));
      out.note = "no rank writes some of it";
    }
    return GoldenOutputs{std::move(out)};
  }
};

Result<void> check_type(const GoldenCall& call, const Operand& input, int rank) {
  if (input.meta.dtype == dtype_of(call, 0)) return {};
  return fail(ErrorKind::mismatch, "rank {} has {} where this one has {}", rank, name(input.meta.dtype),
              name(dtype_of(call, 0)));
}

// As the first input, with the first extent of the last one.
Result<Shape> output_shape(const GoldenCall& call, size_t last) {
  Shape shape = shape_of(call, 0);
  if (shape.dims.empty() || shape_of(call, last).dims.empty())
    return fail(ErrorKind::mismatch, "inputs of shapes {} and {} do not tell the output", shape.text(),
                shape_of(call, last).text());
  shape.dims[0] = shape_of(call, last).dims[0];
  ASSAY_TRY_DO(count_of(shape));
  return shape;
}

}  // namespace

// in: tensor, count that is sent, counts and places of what comes, extent
Result<GoldenOutputs> golden_all_gather_v(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 5, 5));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const Shape shape, output_shape(call, 4));
  ASSAY_TRY(const std::vector<CountedShare> shares, shares_of(call, 2, 3, ranks.size, shape.count()));
  ASSAY_TRY(Written out, Written::make(call, shape));
  for (int rank = 0; rank < ranks.size; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, inputs_of_rank(call, rank, ranks.own));
    ASSAY_TRY_DO(check_type(call, *inputs[0], rank));
    const CountedShare& target = shares[static_cast<size_t>(rank)];
    if (target.count > inputs[0]->meta.shape.count())
      return fail(ErrorKind::mismatch, "{} elements come from rank {}, which has {}", target.count, rank,
                  inputs[0]->meta.shape.count());
    ASSAY_TRY_DO(out.write(*inputs[0], {0, target.count}, target));
  }
  return out.take();
}

// in: tensor. What is sent and what comes, counts and places, is in the parameters of each rank.
Result<GoldenOutputs> golden_all_to_all_v(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const std::vector<int64_t> counts, call.params.integers({"recvCounts"}));
  int64_t room = 0;
  for (const int64_t count : counts) {
    const auto sum = checked_add(room, count);
    if (count < 0 || !sum) return fail(ErrorKind::bad_argument, "the parameter recvCounts has a {}", count);
    room = *sum;
  }
  ASSAY_TRY(const std::vector<CountedShare> come,
            told_shares(call.params, "recvCounts", "rdispls", ranks.size, room));
  ASSAY_TRY(Written out, Written::make(call, Shape{{1, room}}));
  for (int rank = 0; rank < ranks.size; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, inputs_of_rank(call, rank, ranks.own));
    ASSAY_TRY_DO(check_type(call, *inputs[0], rank));
    std::vector<OpParam> of_rank;
    GoldenParams told = call.params;
    if (rank != ranks.own) {
      if (!call.params_of_rank)
        return fail(ErrorKind::not_found, "what rank {} sends to this one is in its parameters", rank);
      ASSAY_TRY(of_rank, call.params_of_rank(rank));
      told = GoldenParams(of_rank);
    }
    const auto sent = told_shares(told, "sendCounts", "sdispls", ranks.size, inputs[0]->meta.shape.count());
    if (!sent) return fail(sent.error().kind, "of rank {}: {}", rank, sent.error().message);
    const CountedShare &from = (*sent)[static_cast<size_t>(ranks.own)], &to = come[static_cast<size_t>(rank)];
    if (from.count != to.count)
      return fail(ErrorKind::mismatch, "rank {} sends {} elements where {} are awaited", rank, from.count,
                  to.count);
    ASSAY_TRY_DO(out.write(*inputs[0], from, to));
  }
  return out.take();
}

// in: tensor, counts and places of what is sent, of what comes, extent
Result<GoldenOutputs> golden_all_to_all_vv2(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 6, 6));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  if (shape_of(call, 5).dims.empty())
    return fail(ErrorKind::mismatch, "input 5 does not tell the extent of the output");
  const Shape shape{{1, shape_of(call, 5).dims[0]}};
  ASSAY_TRY(const int64_t room, count_of(shape));
  ASSAY_TRY(const std::vector<CountedShare> come, shares_of(call, 3, 4, ranks.size, room));
  ASSAY_TRY(Written out, Written::make(call, shape));
  for (int rank = 0; rank < ranks.size; ++rank) {
    GoldenCall other = call;
    ASSAY_TRY(other.in, inputs_of_rank(call, rank, ranks.own));
    ASSAY_TRY_DO(check_given(other, 6, 6));
    ASSAY_TRY_DO(check_type(call, *other.in[0], rank));
    ASSAY_TRY(const std::vector<CountedShare> sent,
              shares_of(other, 1, 2, ranks.size, shape_of(other, 0).count()));
    const CountedShare &from = sent[static_cast<size_t>(ranks.own)], &to = come[static_cast<size_t>(rank)];
    if (from.count != to.count)
      return fail(ErrorKind::mismatch, "rank {} sends {} elements where {} are awaited", rank, from.count,
                  to.count);
    ASSAY_TRY_DO(out.write(*other.in[0], from, to));
  }
  return out.take();
}

// in: tensor, counts and places of what each rank gets, count of what comes, extent
Result<GoldenOutputs> golden_reduce_scatter_v(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 5, 5));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const Fold fold, fold_of(call, "reduceType"));
  ASSAY_TRY(const Shape shape, output_shape(call, 4));
  const int64_t count = shape_of(call, 0).count();
  ASSAY_TRY(const std::vector<CountedShare> shares, shares_of(call, 1, 2, ranks.size, count));
  const CountedShare& own = shares[static_cast<size_t>(ranks.own)];
  if (own.count != shape.count())
    return fail(ErrorKind::mismatch, "this rank gets {} elements, and its output has {}", own.count,
                shape.count());
  std::vector<OperandPtr> parts;
  for (int rank = 0; rank < ranks.size; ++rank) {
    ASSAY_TRY(const std::vector<OperandPtr> inputs, inputs_of_rank(call, rank, ranks.own));
    if (inputs[0]->meta != call.in[0]->meta)
      return fail(ErrorKind::mismatch, "rank {} has {} {} where this one has {} {}", rank,
                  name(inputs[0]->meta.dtype), inputs[0]->meta.shape.text(), name(dtype_of(call, 0)),
                  shape_of(call, 0).text());
    ASSAY_TRY(OperandPtr part, sliced(reshaped(inputs[0], Shape{{count}}), 0, own.first, own.count));
    parts.push_back(reshaped(std::move(part), shape));
  }
  ASSAY_TRY(Expected result, folded(call, parts, fold));
  return GoldenOutputs{std::move(result)};
}

}  // namespace assay
