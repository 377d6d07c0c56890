// Attention head by head and a block of queries at a time: nothing as large as queries times keys is ever
// held. What SelfAttention and PagedAttention share.
#pragma once

#include "assay/golden/int8_attention.h"
#include "assay/golden/matrices.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace assay {

// Rows of one tensor, each anywhere in it.
struct RowsOf {
  OperandPtr data;
  std::vector<int64_t> starts;  // elements where rows begin; inside of the tensor
  int64_t width = 0;
  // int8: (element + offset) * scale, per element of a row. Empty: as they are.
  std::vector<double> scales = {}, offsets = {};
};

// What one head of keys is asked, in one sample.
struct AttentionJob {
  RowsOf keys, values;
  RowsOf queries;  // of several heads that share the keys: all rows of the first, of the second …
  std::vector<int64_t> outputs;  // where the row of each query begins in the output
  int64_t sample = 0;
  int64_t first_head = 0;
  int64_t positions = 0;  // queries of one head
};

// Which row of scores a mask is for.
struct MaskRow {
  int64_t sample = 0, head = 0, position = 0;
};
// What is added to the scores of a row; fills all of `mask`.
using AttentionMask =
    std::function<Result<void>(const MaskRow& row, std::span<double> mask, Scratch& scratch)>;

struct AttentionRule {
  DType dtype = DType::f16;  // of the tensors; of the output where they are int8
  double query_scale = 1;    // on queries; rounded to the type of the tensors
  double scale = 1;          // on scores
  bool scales_last = false;  // after the mask
  std::optional<std::pair<double, double>> clamp = {};
  bool rounds_scores = true;           // honest kernels may keep scores in the type of the tensors
  bool rounds_steps = false;           // every step is rounded to it, in the value too
  bool rounds_inputs = false;          // and what they made of int8
  std::optional<Int8Heads> int8 = {};  // of queries, keys, values and weights
  AttentionMask mask = {};
  std::function<double(int64_t sample)> scale_of = {};  // one more factor on scores
};

struct Attention {
  AttentionRule rule;
  int64_t jobs = 0;
  std::function<Result<AttentionJob>(int64_t number)> job;
  int64_t most_keys = 0;  // of a job
  int64_t key_width = 0, value_width = 0;
};

// softmax(scores) values for every query of every job, into `out`.
Result<void> attend(const Attention& attention, int64_t memory, ComputedTensor& out);

}  // namespace assay
