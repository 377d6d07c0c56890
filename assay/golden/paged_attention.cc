#include "assay/base/checked.h"
#include "assay/golden/attention_mask.h"
#include "assay/golden/attentions.h"
#include "assay/golden/linear.h"
#include "assay/golden/numbers.h"

#include <algorithm>

namespace assay {
namespace {

enum PagedMask : int64_t {
  kPagedNone = 0,
  kPagedNorm = 1,
  kPagedAlibi = 2,
  kPagedSpec = 3,
  kPagedFree = 4,
  kPagedCompress = 5
};
constexpr double kPagedHidden = -10000;
constexpr int64_t kMostPagedTokens = int64_t{1} << 40;

struct PagedParams {
  Heads heads;
  double scale = 1, query_scale = 1;
  int64_t mask = kPagedNone, value_width = 0;
  bool has_status = false, is_quantised = false, has_offset = false;
  bool compresses = false;         // each head of keys has a table of its own
  bool has_score_offsets = false;  // … and each place of the cache what is added to its scores
  bool speculates = false;         // several queries per sequence
  bool has_log_scale = false;
  bool heads_first = false;              // in the cache: [blocks, heads, tokens, size]
  std::optional<WeightSteps> int8 = {};  // of queries, caches and weights
};

Result<PagedParams> read_paged_params(const GoldenCall& call) {
  const GoldenParams& given = call.params;
  PagedParams params;
  ASSAY_TRY(params.heads, read_heads(given));
  ASSAY_TRY(params.scale, given.real_or({"qkScale"}, 1));
  ASSAY_TRY(params.query_scale, given.real_or({"qScale"}, 1));
  if (params.query_scale == 0) params.query_scale = 1;  // as ATB has it
  constexpr int64_t kMasks[] = {0, 1, 2, 3, 4, 5}, kQuants[] = {0, 1, 2, 3}, kTypes[] = {0, 1, 2};
  constexpr int64_t kFlags[] = {0, 1};
  ASSAY_TRY(params.mask, given.choice_or({"maskType"}, kPagedNone, kMasks));
  ASSAY_TRY(params.has_status, given.flag_or({"batchRunStatusEnable"}, false));
  ASSAY_TRY(const int64_t quant, given.choice_or({"quantType"}, 0, kQuants));
  params.is_quantised = quant == 1;
  ASSAY_TRY(params.has_offset, given.flag_or({"hasQuantOffset"}, false));
  if (quant == 2) params.int8 = WeightSteps::multiplied;
  if (quant == 3) params.int8 = WeightSteps::by_block;
  ASSAY_TRY(const int64_t compress, given.choice_or({"compressType"}, 0, kTypes));
  params.compresses = compress != 0;
  params.has_score_offsets = compress == 2;
  if (compress == 2 && (params.mask != kPagedNone || quant != 0))
    return fail(ErrorKind::bad_argument, "compressType 2 goes without maskType and quantType");
  ASSAY_TRY(const int64_t calc, given.choice_or({"calcType"}, 0, kFlags));
  params.speculates = calc == 1;
  ASSAY_TRY(const int64_t scale_type, given.choice_or({"scaleType"}, 0, kFlags));
  params.has_log_scale = scale_type == 1;
  ASSAY_TRY(const int64_t layout, given.choice_or({"inputLayout"}, 0, kFlags));
  params.heads_first = layout == 1;
  ASSAY_TRY(params.value_width, given.integer_or({"mlaVHeadSize"}, 0));
  if (params.value_width < 0) return fail(ErrorKind::bad_argument, "mlaVHeadSize is {}", params.value_width);
  if (params.int8 && (params.compresses || params.has_offset || params.has_log_scale))
    return fail(ErrorKind::bad_argument,
                "quantType {} goes without compressType, hasQuantOffset and scaleType", quant);
  if (params.int8 && params.query_scale != 1)
    return fail(ErrorKind::unsupported, "qScale {} of int8 queries", params.query_scale);
  if (params.compresses && params.speculates)
    return fail(ErrorKind::bad_argument, "compressType {} goes without calcType 1", compress);
  return params;
}

// Inputs in the order of ATB.
struct PagedPlaces {
  size_t table = 0, contexts = 0;
  std::optional<size_t> values, mask, status, key_scale, key_offset, value_scale, value_offset, lengths,
      score_offsets, log_scale, weight_scale;
};

Result<PagedPlaces> paged_places(const GoldenCall& call, const PagedParams& params) {
  PagedPlaces places;
  size_t next = 2;
  if (params.value_width == 0) places.values = next++;
  places.table = next++;
  places.contexts = next++;
  if (params.mask != kPagedNone) places.mask = next++;
  if (params.has_status) places.status = next++;
  if (params.is_quantised) {
    places.key_scale = next++;
    if (params.has_offset) places.key_offset = next++;
    places.value_scale = next++;
    if (params.has_offset) places.value_offset = next++;
  }
  if (params.int8) {
    places.key_scale = next++;
    places.value_scale = next++;
  }
  if (params.speculates) places.lengths = next++;
  if (params.has_score_offsets) places.score_offsets = next++;
  if (params.int8 == WeightSteps::multiplied) places.weight_scale = next++;
  if (params.has_log_scale) places.log_scale = next++;
  // Scales have their places behind those of mask and states where these are dumped empty.
  const size_t room = (params.mask == kPagedNone ? 1 : 0) + (params.has_status ? 0 : 1);
  if ((params.is_quantised || params.int8) && call.in.size() > next && call.in.size() <= next + room) {
    const size_t shift = call.in.size() - next;
    for (std::optional<size_t>* each :
         {&places.key_scale, &places.key_offset, &places.value_scale, &places.value_offset, &places.lengths,
          &places.weight_scale, &places.log_scale})
      if (*each) **each += shift;
    next += shift;
  }
  // The rules of masks 4 and 5 need no tensor.
  if (call.in.size() + 1 == next && (params.mask == kPagedFree || params.mask == kPagedCompress)) {
    for (std::optional<size_t>* each :
         {&places.status, &places.key_scale, &places.key_offset, &places.value_scale, &places.value_offset,
          &places.lengths, &places.weight_scale, &places.log_scale})
      if (*each) --**each;
    places.mask.reset();
    --next;
  }
  ASSAY_TRY_DO(check_inputs(call, next, next));
  return places;
}

// A cache as [blocks, tokens of a block, heads, size], whatever it is stored as.
struct PagedCache {
  OperandPtr data;
  int64_t blocks = 0, tokens = 0, heads = 0, size = 0;
  bool heads_first = false;

  int64_t row(int64_t token, int64_t head) const {
    if (!heads_first) return (token * heads + head) * size;
    return ((token / tokens * heads + head) * tokens + token % tokens) * size;
  }
};

Result<PagedCache> paged_cache(const GoldenCall& call, size_t i, int64_t heads, int64_t size,
                               bool heads_first) {
  PagedCache out;
  out.data = call.in[i];
  const DType dtype = out.data->meta.dtype;
  if (!is_real(dtype) && dtype != DType::i8) return fail(ErrorKind::mismatch, "a cache of {}", name(dtype));
  const std::vector<int64_t> dims = out.data->meta.shape.dims;
  if (dims.size() != 4) return fail(ErrorKind::mismatch, "a cache of shape {}", out.data->meta.shape.text());
  const int64_t in_block = dtype == DType::i8 ? 32 : 16;
  const bool is_plain = dims[heads_first ? 1 : 2] == heads && (size == 0 || dims[3] == size);
  const bool in_blocks = !heads_first && dims[3] == in_block &&
                         (size == 0 ? dims[1] * dims[3] % heads == 0 : dims[1] * dims[3] == heads * size);
  if (in_blocks && (call.soc == Soc::ascend_310p || (call.soc == Soc::unknown && !is_plain))) {
    ASSAY_TRY(out.data, from_blocks(out.data, 1, call.memory / 4));
    out.blocks = dims[0];
    out.tokens = dims[2];
    out.heads = heads;
    out.size = dims[1] * dims[3] / heads;
    return out;
  }
  if (!is_plain)
    return fail(ErrorKind::mismatch, "a cache of shape {} for {} heads of {}", out.data->meta.shape.text(),
                heads, size);
  ASSAY_TRY(out.data, kept_in_memory(out.data, call.memory / 4));
  out.blocks = dims[0];
  out.tokens = dims[heads_first ? 2 : 1];
  out.heads = heads;
  out.size = dims[3];
  out.heads_first = heads_first;
  return out;
}

// Scales and offsets of int8, per element of all heads.
struct PagedQuant {
  std::vector<double> scales, offsets;

  void apply(int64_t head, RowsOf& rows) const {
    if (scales.empty()) return;
    const auto part = [&](const std::vector<double>& of) {
      return std::vector<double>(of.begin() + head * rows.width, of.begin() + (head + 1) * rows.width);
    };
    rows.scales = part(scales);
    if (!offsets.empty()) rows.offsets = part(offsets);
  }
};

Result<PagedQuant> paged_quant(const GoldenCall& call, std::optional<size_t> scale,
                               std::optional<size_t> offset, const PagedCache& cache, int64_t heads) {
  PagedQuant out;
  if (!scale) {
    if (!is_real(cache.data->meta.dtype))
      return fail(ErrorKind::mismatch, "the cache is {}, and quantType names no scales",
                  name(cache.data->meta.dtype));
    return out;
  }
  ASSAY_TRY(Scales scales, scales_of(call, *scale));
  out.scales = std::move(scales.values);
  if (offset) {
    ASSAY_TRY(Numbers offsets, numbers_of(call, *offset));
    out.offsets = std::move(offsets.values);
  }
  const int64_t wants = heads * cache.size;
  if (std::ssize(out.scales) != wants || (offset && std::ssize(out.offsets) != wants))
    return fail(ErrorKind::mismatch, "{} scales and {} offsets for {} elements of a token", out.scales.size(),
                out.offsets.size(), wants);
  return out;
}

// One sequence of queries per row of the block tables.
struct PagedRun {
  std::vector<int64_t> positions, starts, contexts;
};

Result<AttentionMask> paged_mask(const GoldenCall& call, const PagedParams& params,
                                 std::optional<size_t> place, const PagedRun& run, int64_t samples) {
  if (params.mask == kPagedNone) return AttentionMask();
  if (params.mask == kPagedFree || params.mask == kPagedCompress)
    return causal_mask(run.positions, kPagedHidden, 0);
  ASSAY_TRY(const MaskTensor mask,
            mask_tensor(call, *place, samples, params.heads.queries, params.mask == kPagedAlibi));
  const int64_t per_sample = params.compresses ? params.heads.keys : 1;
  // A mask of speculation has a row per query. A square one is for the positions in the sequence.
  const bool by_token = params.mask == kPagedSpec && mask.samples == 1;
  const bool by_place = params.speculates && params.mask == kPagedNorm && mask.samples == 1 && mask.rows > 1;
  // Without speculation, rows of two dimensions are those of the sequences.
  const bool by_sample = !params.speculates && mask.samples == 1 && mask.rows == samples && samples > 1;
  const auto row_of = [=](const MaskRow& row) {
    const auto at = static_cast<size_t>(row.sample);
    if (by_token) return run.starts[at] + row.position;
    if (by_place) return run.contexts[at] - run.positions[at] + row.position;
    if (by_sample) return row.sample / per_sample;
    return row.position;
  };
  for (int64_t i = 0; i < std::ssize(run.positions); ++i) {
    const auto at = static_cast<size_t>(i);
    if (run.positions[at] == 0 || run.contexts[at] == 0) continue;
    const int64_t last = row_of({i, 0, run.positions[at] - 1}), first = row_of({i, 0, 0});
    if (first < 0 || !mask.has(last + 1, run.contexts[at]))
      return fail(ErrorKind::mismatch, "a mask of {} x {} for query {} of {} keys", mask.rows, mask.columns,
                  last, run.contexts[at]);
  }
  const bool scales = params.value_width > 0 && params.speculates && dtype_of(call, 0) == DType::bf16;
  const double factor = scales ? kPagedHidden : 1;
  return [mask, factor, row_of, per_sample](const MaskRow& row, std::span<double> to,
                                            Scratch& scratch) -> Result<void> {
    const MaskRow of{row.sample / per_sample, row.head, row.position};
    return mask.read(of, row_of(row), factor, to, scratch);
  };
}

// What each place of the cache adds to the scores of its key, before they are scaled.
Result<AttentionMask> score_offsets(const GoldenCall& call, size_t place, const BlockTable& table,
                                    double scale, int64_t tokens) {
  ASSAY_TRY(Numbers offsets, numbers_of(call, place));
  if (offsets.count() != tokens)
    return fail(ErrorKind::mismatch, "offsets of {} for {} places of the cache", offsets.shape.text(),
                tokens);
  return [offsets = std::move(offsets.values), &table, scale](const MaskRow& row, std::span<double> to,
                                                              Scratch&) -> Result<void> {
    for (size_t j = 0; j < to.size(); ++j)
      to[j] = scale * offsets[static_cast<size_t>(table.token(row.sample, static_cast<int64_t>(j)))];
    return {};
  };
}

}  // namespace

Result<GoldenOutputs> golden_paged_attention(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 4, 13));
  ASSAY_TRY(const PagedParams params, read_paged_params(call));
  ASSAY_TRY(const PagedPlaces places, paged_places(call, params));
  const Heads& heads = params.heads;

  // Queries [tokens, heads, size], or without heads as a dimension.
  const Shape& shape = shape_of(call, 0);
  DType dtype = dtype_of(call, 0);
  if ((params.int8 ? dtype != DType::i8 : !is_real(dtype)) || shape.dims.size() < 2 || shape.dims.size() > 3)
    return fail(ErrorKind::mismatch, "queries of {} and shape {}", name(dtype), shape.text());
  if (params.int8) {
    ASSAY_TRY(dtype, type_of_int8_attention(call));
  }
  const int64_t tokens = shape.dims[0],
                hidden = shape.dims.size() == 3 ? shape.dims[1] * shape.dims[2] : shape.dims[1];
  if (hidden % heads.queries != 0 || (shape.dims.size() == 3 && shape.dims[1] != heads.queries))
    return fail(ErrorKind::mismatch, "queries of shape {} for {} heads", shape.text(), heads.queries);
  const int64_t depth = hidden / heads.queries;
  const int64_t in_cache = params.compresses ? 1 : heads.keys;
  ASSAY_TRY(const PagedCache keys, paged_cache(call, 1, in_cache, depth, params.heads_first));
  PagedCache values = keys;
  int64_t width = params.value_width;
  if (places.values) {
    ASSAY_TRY(values, paged_cache(call, *places.values, in_cache, 0, params.heads_first));
    width = values.size;
  }
  if (width > values.size || values.blocks != keys.blocks || values.tokens != keys.tokens)
    return fail(ErrorKind::mismatch, "values of {} in caches of shapes {} and {}", width,
                keys.data->meta.shape.text(), values.data->meta.shape.text());
  PagedQuant key_quant, value_quant;
  if (params.int8) {
    if (keys.data->meta.dtype != DType::i8 || values.data->meta.dtype != DType::i8)
      return fail(ErrorKind::mismatch, "caches of {} and {} beside queries of int8",
                  name(keys.data->meta.dtype), name(values.data->meta.dtype));
  } else {
    const int64_t of_scales = params.compresses ? 1 : heads.keys;
    ASSAY_TRY(key_quant, paged_quant(call, places.key_scale, places.key_offset, keys, of_scales));
    ASSAY_TRY(value_quant, paged_quant(call, places.value_scale, places.value_offset, values, of_scales));
  }

  // Sequences: one per token, per speculated run of tokens, or per token and head of keys.
  PagedRun run;
  ASSAY_TRY(run.contexts, lengths_of(call, places.contexts, kMostPagedTokens, "contextLens"));
  const int64_t per_token = params.compresses ? heads.keys : 1;
  const int64_t sequences = std::ssize(run.contexts);
  if (params.speculates) {
    ASSAY_TRY(run.positions, lengths_of(call, *places.lengths, kMostPagedTokens, "qSeqLen"));
    if (run.positions.size() != run.contexts.size())
      return fail(ErrorKind::mismatch, "{} lengths of queries, {} of contexts", run.positions.size(),
                  run.contexts.size());
    ASSAY_TRY(run.starts, starts_of(run.positions, tokens, "qSeqLen"));
  } else {
    const auto wants = checked_multiply(tokens, per_token);
    if (!wants || sequences != *wants)
      return fail(ErrorKind::mismatch, "{} contexts for {} tokens", sequences, tokens);
    run.positions.assign(run.contexts.size(), 1);
    for (int64_t i = 0; i < sequences; ++i) run.starts.push_back(i / per_token);
  }
  ASSAY_TRY(const BlockTable table, block_table_of(call, places.table, keys.tokens));
  for (int64_t i = 0; i < sequences; ++i)
    ASSAY_TRY_DO(table.check(i, run.contexts[static_cast<size_t>(i)], keys.blocks));
  const int64_t samples = sequences / per_token;
  ASSAY_TRY(const std::vector<int64_t> runs,
            running_batches(call, places.status, static_cast<size_t>(samples)));
  Numbers log_scale;
  if (places.log_scale) {
    ASSAY_TRY(log_scale, numbers_of(call, *places.log_scale));
    if (log_scale.count() != samples)
      return fail(ErrorKind::mismatch, "{} logarithmic scales for {} sequences", log_scale.count(), samples);
  }

  Shape out_shape = shape;
  out_shape.dims.back() = shape.dims.size() == 3 ? width : heads.queries * width;
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, out_shape, call.memory));
  Attention attention;
  attention.rule.dtype = dtype;
  attention.rule.query_scale = params.query_scale;
  attention.rule.scale = params.scale;
  attention.rule.rounds_inputs = params.is_quantised;
  if (params.int8) {
    attention.rule.rounds_scores = false;
    ASSAY_TRY(attention.rule.int8,
              int8_heads(call, {*places.key_scale, *places.value_scale, places.weight_scale}, *params.int8,
                         heads.queries));
  }
  if (places.score_offsets) {
    ASSAY_TRY(attention.rule.mask,
              score_offsets(call, *places.score_offsets, table, params.scale, keys.blocks * keys.tokens));
  } else {
    ASSAY_TRY(attention.rule.mask, paged_mask(call, params, places.mask, run, samples));
  }
  if (places.log_scale)
    attention.rule.scale_of = [&](int64_t sequence) {
      return log_scale.values[static_cast<size_t>(sequence / per_token)];
    };
  attention.key_width = depth;
  attention.value_width = width;

  // A job per sequence and head of keys; of a compressed cache, each sequence is one head.
  UnknownRows unknown;
  std::vector<int64_t> active;
  const int64_t row = heads.queries * width, heads_of_sequence = params.compresses ? 1 : heads.keys;
  for (int64_t i = 0; i < sequences; ++i) {
    const auto at = static_cast<size_t>(i);
    if (runs[static_cast<size_t>(i / per_token)] == 0)
      unknown.add(run.starts[at] * row, run.positions[at] * row);
    else if (run.positions[at] > 0)
      active.push_back(i);
    attention.most_keys = std::max(attention.most_keys, run.contexts[at]);
  }
  attention.jobs = std::ssize(active) * heads_of_sequence;
  attention.job = [&](int64_t number) -> Result<AttentionJob> {
    const int64_t sequence = active[static_cast<size_t>(number / heads_of_sequence)];
    const auto at = static_cast<size_t>(sequence);
    const int64_t in_table = number % heads_of_sequence;
    const int64_t head = params.compresses ? sequence % per_token : in_table;
    AttentionJob job;
    job.sample = sequence;
    job.first_head = head * heads.per_key();
    job.positions = run.positions[at];
    job.keys = {keys.data, {}, depth, {}, {}};
    job.values = {values.data, {}, width, {}, {}};
    key_quant.apply(in_table, job.keys);
    value_quant.apply(in_table, job.values);
    for (int64_t j = 0; j < run.contexts[at]; ++j) {
      const int64_t token = table.token(sequence, j);
      job.keys.starts.push_back(keys.row(token, in_table));
      job.values.starts.push_back(values.row(token, in_table));
    }
    add_queries(call.in[0], heads, run.starts[at], depth, width, job);
    return job;
  };
  return attended(attention, call.memory, std::move(out), unknown);
}

}  // namespace assay
