// The attention operators, as attentions.cc lists them.
#pragma once

#include "assay/golden/attention.h"

namespace assay {

Result<GoldenOutputs> golden_self_attention(const GoldenCall& call);   // self_attention.cc
Result<GoldenOutputs> golden_paged_attention(const GoldenCall& call);  // paged_attention.cc

// ----- what both share

struct Heads {
  int64_t queries = 0, keys = 0;  // numbers of heads
  int64_t per_key() const { return queries / keys; }
};
Result<Heads> read_heads(const GoldenParams& params);

// Lengths that a tensor has: none negative, at most `most` of them, each at most `longest`.
Result<std::vector<int64_t>> lengths_of(const GoldenCall& call, size_t i, int64_t longest,
                                        std::string_view what);
// Sums before each. An error where all of them are not `total`.
Result<std::vector<int64_t>> starts_of(const std::vector<int64_t>& lengths, int64_t total,
                                       std::string_view what);
// Which batches run: one flag each. All of them where there is no such input.
Result<std::vector<int64_t>> running_batches(const GoldenCall& call, std::optional<size_t> i, size_t batches);

// Which blocks of a cache hold the keys of a sequence.
struct BlockTable {
  std::vector<int64_t> blocks;  // by sequence
  int64_t width = 0;            // of them per sequence
  int64_t block_size = 0;

  int64_t rows() const { return width == 0 ? 0 : std::ssize(blocks) / width; }
  // Number of a token among all that the cache has room for. Precondition: has been checked.
  int64_t token(int64_t sequence, int64_t key) const {
    return blocks[static_cast<size_t>(sequence * width + key / block_size)] * block_size + key % block_size;
  }
  // An error where a block that is needed for so many keys is none of `count`.
  Result<void> check(int64_t sequence, int64_t keys, int64_t count) const;
};
Result<BlockTable> block_table_of(const GoldenCall& call, size_t i, int64_t block_size);

// Rows of what was not computed, which are left out of the comparison.
struct UnknownRows {
  std::vector<std::pair<int64_t, int64_t>> runs;  // first element, count
  void add(int64_t first, int64_t count) {
    if (count > 0) runs.emplace_back(first, count);
  }
  Result<void> leave_out(Expected& expected, std::string note) const;
};

// Queries [tokens, heads, depth] and what becomes of them, [tokens, heads, width]: those of the heads that
// share the keys of a job, from its token `first` on.
void add_queries(const OperandPtr& queries, const Heads& heads, int64_t first, int64_t depth, int64_t width,
                 AttentionJob& job);
// Runs it. `unknown`: of batches that did not run.
Result<GoldenOutputs> attended(const Attention& attention, int64_t memory, ComputedTensor out,
                               const UnknownRows& unknown);

}  // namespace assay
