#include "assay/golden/attentions.h"

#include "assay/base/checked.h"
#include "assay/golden/families.h"
#include "assay/golden/numbers.h"
#include "assay/tensor/dense.h"

#include <algorithm>

namespace assay {

Result<Heads> read_heads(const GoldenParams& params) {
  constexpr int64_t kMostHeads = 1 << 16;
  Heads heads;
  ASSAY_TRY(heads.queries, params.integer({"headNum"}));
  ASSAY_TRY(heads.keys, params.integer_or({"kvHeadNum"}, 0));
  if (heads.keys == 0) heads.keys = heads.queries;
  if (heads.queries < 1 || heads.queries > kMostHeads || heads.keys < 1 || heads.queries % heads.keys != 0)
    return fail(ErrorKind::bad_argument, "headNum {} with kvHeadNum {}", heads.queries, heads.keys);
  return heads;
}

Result<std::vector<int64_t>> lengths_of(const GoldenCall& call, size_t i, int64_t longest,
                                        std::string_view what) {
  ASSAY_TRY(Integers lengths, integers_of(call, i));
  for (const int64_t each : lengths.values)
    if (each < 0 || each > longest)
      return fail(ErrorKind::mismatch, "{} has a length of {}, where at most {} are possible", what, each,
                  longest);
  return std::move(lengths.values);
}

Result<std::vector<int64_t>> starts_of(const std::vector<int64_t>& lengths, int64_t total,
                                       std::string_view what) {
  std::vector<int64_t> starts;
  int64_t sum = 0;
  for (const int64_t each : lengths) {
    starts.push_back(sum);
    const auto next = checked_add(sum, each);
    if (!next) return fail(ErrorKind::mismatch, "{} is too large", what);
    sum = *next;
  }
  if (sum != total) return fail(ErrorKind::mismatch, "{} adds up to {}, for {} rows", what, sum, total);
  return starts;
}

Result<std::vector<int64_t>> running_batches(const GoldenCall& call, std::optional<size_t> i,
                                             size_t batches) {
  if (!i) return std::vector<int64_t>(batches, 1);
  ASSAY_TRY(Integers flags, integers_of(call, *i));
  if (flags.values.size() != batches)
    return fail(ErrorKind::mismatch, "{} states of batches for {} batches", flags.values.size(), batches);
  return std::move(flags.values);
}

Result<BlockTable> block_table_of(const GoldenCall& call, size_t i, int64_t block_size) {
  ASSAY_TRY(Integers numbers, integers_of(call, i));
  if (numbers.shape.dims.size() != 2)
    return fail(ErrorKind::mismatch, "block tables have the shape {}", numbers.shape.text());
  if (block_size < 1) return fail(ErrorKind::mismatch, "the cache has blocks without tokens");
  return BlockTable{std::move(numbers.values), numbers.shape.dims[1], block_size};
}

Result<void> BlockTable::check(int64_t sequence, int64_t keys, int64_t count) const {
  const int64_t wanted = keys / block_size + (keys % block_size != 0 ? 1 : 0);
  if (sequence >= rows() && wanted > 0)
    return fail(ErrorKind::mismatch, "the block tables have {} rows, sequence {} is wanted", rows(),
                sequence);
  if (wanted > width)
    return fail(ErrorKind::mismatch, "sequence {} has {} keys: more than {} blocks of {}", sequence, keys,
                width, block_size);
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t block = blocks[static_cast<size_t>(sequence * width + i)];
    if (block < 0 || block >= count)
      return fail(ErrorKind::mismatch, "block {} of sequence {} is {}, the cache has {}", i, sequence, block,
                  count);
  }
  return {};
}

Result<void> UnknownRows::leave_out(Expected& expected, std::string note) const {
  if (runs.empty()) return {};
  std::vector<std::byte> known(static_cast<size_t>(expected.value->meta.shape.count()), std::byte{1});
  if (expected.known != nullptr) {
    Scratch scratch;
    ASSAY_TRY(const Block block, expected.known->block(0, std::ssize(known), scratch));
    std::copy_n(block.data, known.size(), known.begin());
    note += "; " + expected.note;
  }
  for (const auto& [first, count] : runs) std::fill_n(known.begin() + first, count, std::byte{0});
  expected.known = dense_in_memory(std::move(known), TensorMeta{DType::u8, expected.value->meta.shape});
  expected.note = std::move(note);
  return {};
}

void add_queries(const OperandPtr& queries, const Heads& heads, int64_t first, int64_t depth, int64_t width,
                 AttentionJob& job) {
  job.queries = {queries, {}, depth};
  for (int64_t h = job.first_head; h < job.first_head + heads.per_key(); ++h)
    for (int64_t token = first; token < first + job.positions; ++token) {
      job.queries.starts.push_back((token * heads.queries + h) * depth);
      job.outputs.push_back((token * heads.queries + h) * width);
    }
}

Result<GoldenOutputs> attended(const Attention& attention, int64_t memory, ComputedTensor out,
                               const UnknownRows& unknown) {
  ASSAY_TRY_DO(attend(attention, memory, out));
  GoldenOutputs outputs;
  outputs.push_back(out.take());
  ASSAY_TRY_DO(unknown.leave_out(outputs[0], "batches that did not run are not written"));
  return outputs;
}

namespace {

constexpr GoldenOp kAttentionOps[] = {
    {"PagedAttentionOperation", golden_paged_attention,
     "attention of tokens to keys and values in the blocks of a cache"},
    {"SelfAttentionOperation", golden_self_attention,
     "attention of sequences to themselves, or to a cache of whole sequences"},
};

}  // namespace

GoldenFamily golden_attentions() { return kAttentionOps; }

}  // namespace assay
