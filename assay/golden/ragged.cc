// Samples of different lengths: packed one after another, or padded to one length.
#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/moves.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

// Lengths of samples that fit `room`, of which there are `samples`.
Result<int64_t> sum_of_lengths(std::span<const int64_t> lengths, int64_t samples, int64_t room) {
  if (std::ssize(lengths) != samples)
    return fail(ErrorKind::mismatch, "{} lengths for {} samples", lengths.size(), samples);
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > room)
      return fail(ErrorKind::mismatch, "a sample of length {} does not fit {}", length, room);
    const auto next = checked_add(sum, length);
    if (!next) return fail(ErrorKind::mismatch, "the samples are too long");
    sum = *next;
  }
  return sum;
}

}  // namespace

Result<GoldenOutputs> golden_gen_attention_mask(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY_DO(check_rank(call, 0, 4));
  ASSAY_TRY(const std::vector<int64_t> lengths, call.params.integers({"seqLen"}));
  ASSAY_TRY(const int64_t heads, call.params.integer({"headNum"}));
  if (heads < 1)
    return fail(ErrorKind::bad_argument, "the parameter headNum is {}, which is less than 1", heads);
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY_DO(sum_of_lengths(lengths, shape.dims[0], std::min(shape.dims[2], shape.dims[3])));
  const std::vector<int64_t> strides = strides_of(shape);
  ASSAY_TRY(Elements none, zero_elements(call, dtype_of(call, 0), Shape{{0}}));
  std::vector<OperandPtr> parts = {operand_of(std::move(none))};
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Shape part{{heads, shape.dims[1], lengths[i], lengths[i]}};
    ASSAY_TRY(const int64_t count, count_of(part));
    if (count == 0) continue;
    ASSAY_TRY(OperandPtr mask, strided(call.in[0], part, {0, strides[1], strides[2], 1},
                                       static_cast<int64_t>(i) * strides[0]));
    parts.push_back(reshaped(std::move(mask), Shape{{count}}));
  }
  ASSAY_TRY(OperandPtr packed, concatenated(std::move(parts), 0));
  return GoldenOutputs{exactly(std::move(packed))};
}

Result<GoldenOutputs> golden_unpad_with_hidden_state(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY_DO(check_rank(call, 0, 3));
  ASSAY_TRY(const std::vector<int64_t> lengths, call.params.integers({"qSeqLen"}));
  const Shape& shape = shape_of(call, 0);
  const int64_t room = shape.dims[1], width = shape.dims[2];
  ASSAY_TRY(const int64_t tokens, sum_of_lengths(lengths, shape.dims[0], room));
  ASSAY_TRY(const Elements source, elements_of(call, 0));
  ASSAY_TRY(Elements out, zero_elements(call, source.meta.dtype, Shape{{tokens, width}}));
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::copy_n(source.at(static_cast<int64_t>(i) * room * width), lengths[i] * width * source.size(),
                out.at(at * width));
    at += lengths[i];
  }
  return GoldenOutputs{exactly(std::move(out))};
}

Result<GoldenOutputs> golden_pad_with_hidden_state(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY(const std::vector<int64_t> lengths, call.params.integers({"qSeqLen"}));
  ASSAY_TRY(const int64_t room, call.params.integer({"maxSeqLen"}));
  const Shape& shape = shape_of(call, 0);
  const int64_t width = shape.dims[1];
  ASSAY_TRY(const int64_t tokens, sum_of_lengths(lengths, std::ssize(lengths), room));
  if (tokens != shape.dims[0])
    return fail(ErrorKind::mismatch, "qSeqLen adds up to {} tokens, the input has {}", tokens, shape.dims[0]);
  ASSAY_TRY(const Elements source, elements_of(call, 0));
  ASSAY_TRY(Elements out, zero_elements(call, source.meta.dtype,
                                        Shape{{std::ssize(lengths), std::max<int64_t>(room, 0), width}}));
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::copy_n(source.at(at * width), lengths[i] * width * source.size(),
                out.at(static_cast<int64_t>(i) * room * width));
    at += lengths[i];
  }
  return GoldenOutputs{exactly(std::move(out))};
}

// in: hidden [tokens, width], padding offsets, lengths [batch, 1], ids [batch, room]
Result<GoldenOutputs> golden_pad(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 4, 4));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY_DO(check_rank(call, 3, 2));
  ASSAY_TRY(const Integers lengths, integers_of(call, 2));
  const int64_t tokens = shape_of(call, 0).dims[0], width = shape_of(call, 0).dims[1];
  const int64_t batch = shape_of(call, 3).dims[0];
  ASSAY_TRY_DO(sum_of_lengths(lengths.values, batch, shape_of(call, 3).dims[1]));
  ASSAY_TRY(Elements out, zero_elements(call, dtype_of(call, 0), Shape{{batch, width}}));
  Scratch scratch;
  int64_t end = 0;
  for (int64_t b = 0; b < batch; ++b) {
    end += lengths.values[static_cast<size_t>(b)];
    if (end < 1 || end > tokens)
      return fail(ErrorKind::mismatch, "the last token of sample {} would be token {} of {}", b, end - 1,
                  tokens);
    ASSAY_TRY_DO(call.in[0]->read((end - 1) * width, width,
                                  {out.at(b * width), static_cast<size_t>(width * out.size())}, scratch));
  }
  return GoldenOutputs{exactly(std::move(out))};
}

// in: ids [batch, room], sums of what is missing up to each sample [batch, 1], tokens [1, 1], lengths
Result<GoldenOutputs> golden_unpad(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 4, 4));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY(const Integers ids, integers_of(call, 0));
  ASSAY_TRY(const Integers offsets, integers_of(call, 1));
  ASSAY_TRY(const Integers stated, integers_of(call, 2));
  ASSAY_TRY(const Integers lengths, integers_of(call, 3));
  const int64_t batch = ids.shape.dims[0], room = ids.shape.dims[1];
  ASSAY_TRY(const int64_t tokens, sum_of_lengths(lengths.values, batch, room));
  if (offsets.count() != batch || stated.count() != 1)
    return fail(ErrorKind::mismatch, "offsets of shape {} and a token number of shape {} for {} samples",
                offsets.shape.text(), stated.shape.text(), batch);
  if (stated.values[0] != tokens)
    return fail(ErrorKind::mismatch, "the lengths add up to {} tokens, not to {}", tokens, stated.values[0]);
  Integers packed{Shape{{1, batch * room}}, std::vector<int64_t>(ids.values.size(), 0)};
  Integers before{Shape{{batch, 1}}, {}};
  Integers padding = packed;
  auto id = packed.values.begin();
  auto shift = padding.values.begin();
  for (size_t b = 0; b < lengths.values.size(); ++b) {
    const int64_t missing = b == 0 ? 0 : offsets.values[b - 1];
    before.values.push_back(missing);
    id = std::copy_n(ids.values.begin() + static_cast<int64_t>(b) * room, lengths.values[b], id);
    shift = std::fill_n(shift, lengths.values[b], missing);
  }
  return GoldenOutputs{expected(DType::i64, packed), expected(DType::i32, before),
                       expected(DType::i32, padding)};
}

}  // namespace assay
