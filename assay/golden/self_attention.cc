// Self attention in each of the places where keys and values lie.
#include "assay/golden/self_sequences.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// q, k, v (unless it is part of k), [mask], lengths, [slopes]; of int8: factors of scores, offsets that are
// not used, factors and offsets of values, [scale of weights].
Result<GoldenOutputs> pa_encoder(const GoldenCall& call, const SelfParams& params) {
  const size_t fixed = params.value_width > 0 ? 3 : 4;
  const size_t most = params.has_slopes() ? 2 : 1,
               least = params.mask == kNoMask || params.mask == kCausalMask ? 0 : most;
  const size_t of_int8 = !params.int8 ? 0 : *params.int8 == WeightSteps::by_block ? 4 : 5;
  ASSAY_TRY_DO(check_inputs(call, fixed + least + of_int8, fixed + most + of_int8));
  SelfPlaces places;
  size_t next = fixed - 1;
  if (call.in.size() > fixed + of_int8) places.mask = next++;
  const size_t of_lengths = next++;
  if (params.has_slopes()) places.slopes = next++;
  if (params.int8) {
    places.int8 = {.of_scores = next, .of_values = next + 2};
    if (of_int8 == 5) places.int8.steps = next + 4;
  }

  SelfSequences of;
  ASSAY_TRY_DO(take_queries(call, params, of));
  const bool is_int8 = params.int8.has_value();
  ASSAY_TRY(const auto key, self_tokens(call, 1, is_int8));
  ASSAY_TRY_DO(check_key_size(key.second, params.heads.keys, of.depth));
  of.keys = call.in[1];
  if (params.value_width > 0) {
    if (params.value_width > of.depth)
      return fail(ErrorKind::bad_argument, "mlaVHeadSize {} of keys of {}", params.value_width, of.depth);
    of.values = of.keys;
    of.width = params.value_width;
  } else {
    ASSAY_TRY(const auto value, self_tokens(call, 2, is_int8));
    if (value.first != key.first)
      return fail(ErrorKind::mismatch, "{} keys and {} values", key.first, value.first);
    ASSAY_TRY(of.width, width_of_values(value.second, params.heads.keys));
    of.values = call.in[2];
  }
  // One row of lengths is for queries and keys alike.
  ASSAY_TRY(const std::vector<int64_t> lengths, lengths_of(call, of_lengths, kLongestSequence, "seqLen"));
  const Shape& shape = shape_of(call, of_lengths);
  const bool has_both = shape.dims.size() == 2 && shape.dims[0] == 2 && shape.dims[1] != 1;
  const auto half = lengths.begin() + (has_both ? std::ssize(lengths) / 2 : std::ssize(lengths));
  of.positions.assign(lengths.begin(), half);
  of.key_counts = has_both ? std::vector<int64_t>(half, lengths.end()) : of.positions;
  ASSAY_TRY(of.query_starts, starts_of(of.positions, of.tokens, "seqLen"));
  ASSAY_TRY(const std::vector<int64_t> key_starts, starts_of(of.key_counts, key.first, "seqLen"));
  const int64_t key_hidden = key.second,
                value_hidden = of.values == of.keys ? key.second : params.heads.keys * of.width;
  of.key_row = [&](int64_t sample, int64_t j) {
    return (key_starts[static_cast<size_t>(sample)] + j) * key_hidden;
  };
  of.value_row = [&](int64_t sample, int64_t j) {
    return (key_starts[static_cast<size_t>(sample)] + j) * value_hidden;
  };

  return run_fused(call, params, places, of, params.scale);
}

// q, caches of keys and values in blocks, block tables, [mask], lengths of queries and keys, [slopes].
Result<GoldenOutputs> prefix_encoder(const GoldenCall& call, const SelfParams& params) {
  if (params.mask != kNormCompress && params.mask != kCausalMask && !params.has_slopes())
    return fail(ErrorKind::bad_argument, "maskType {} is not for a prefix encoder", params.mask);
  const size_t wants = params.has_slopes() ? 8 : params.mask == kNormCompress ? 7 : 6;
  ASSAY_TRY_DO(check_inputs(call, wants, wants));
  SelfPlaces places;
  if (params.mask != kCausalMask) places.mask = 4;
  const size_t of_lengths = params.mask == kCausalMask ? 4 : 5;
  if (params.has_slopes()) places.slopes = 7;

  SelfSequences of;
  ASSAY_TRY_DO(take_queries(call, params, of));
  const Shape &keys = shape_of(call, 1), &values = shape_of(call, 2);
  if (keys.dims.size() != 4 || values.dims.size() != 4 || keys.dims[2] != params.heads.keys ||
      keys.dims[3] != of.depth || values.dims[0] != keys.dims[0] || values.dims[1] != keys.dims[1] ||
      values.dims[2] != keys.dims[2] || !is_real(dtype_of(call, 1)) || !is_real(dtype_of(call, 2)))
    return fail(ErrorKind::mismatch, "caches of shapes {} and {} for {} heads of {}", keys.text(),
                values.text(), params.heads.keys, of.depth);
  of.keys = call.in[1];
  of.values = call.in[2];
  of.width = values.dims[3];
  ASSAY_TRY(const BlockTable table, block_table_of(call, 3, keys.dims[1]));
  ASSAY_TRY(of.positions, lengths_of(call, of_lengths, kLongestSequence, "seqLen"));
  ASSAY_TRY(of.key_counts, lengths_of(call, of_lengths + 1, kLongestSequence, "kvSeqLen"));
  if (of.key_counts.size() != of.positions.size())
    return fail(ErrorKind::mismatch, "{} lengths of queries, {} of keys", of.positions.size(),
                of.key_counts.size());
  ASSAY_TRY(of.query_starts, starts_of(of.positions, of.tokens, "seqLen"));
  for (size_t i = 0; i < of.key_counts.size(); ++i)
    ASSAY_TRY_DO(table.check(static_cast<int64_t>(i), of.key_counts[i], keys.dims[0]));
  of.key_row = [&](int64_t sample, int64_t j) {
    return table.token(sample, j) * params.heads.keys * of.depth;
  };
  of.value_row = [&](int64_t sample, int64_t j) {
    return table.token(sample, j) * params.heads.keys * of.width;
  };
  return run_fused(call, params, places, of, params.scale);
}

// A cache [layers, batches, tokens, hidden] of one layer.
struct LayerCache {
  OperandPtr data;
  int64_t layers = 1, batches = 0, tokens = 0, hidden = 0;
};

Result<LayerCache> layer_cache(const GoldenCall& call, size_t i) {
  LayerCache out;
  out.data = call.in[i];
  if (!is_real(out.data->meta.dtype))
    return fail(ErrorKind::mismatch, "a cache of {}", name(out.data->meta.dtype));
  if (shape_of(call, i).dims.size() == 5) {
    ASSAY_TRY(out.data, from_blocks(out.data, 2, call.memory / 4));
  }
  const std::vector<int64_t>& dims = out.data->meta.shape.dims;
  if (dims.size() != 3 && dims.size() != 4)
    return fail(ErrorKind::mismatch, "a cache of shape {}", out.data->meta.shape.text());
  const size_t skip = dims.size() - 3;
  if (skip == 1) out.layers = dims[0];
  out.batches = dims[skip];
  out.tokens = dims[skip + 1];
  out.hidden = dims[skip + 2];
  return out;
}

// The places behind the fixed inputs: a mask before lengths and layer, states of batches and slopes after
// them.
Result<SelfPlaces> cached_places(const GoldenCall& call, const SelfParams& params, size_t before) {
  const size_t fixed = before + 3;
  SelfPlaces places;
  bool has_mask = params.mask != kNoMask && !(params.calc == kDecoder && params.mask == kWindowMask);
  const size_t others = (params.has_status ? 1 : 0) + (params.has_slopes() ? 1 : 0);
  if (call.in.size() == fixed + others + 1) has_mask = true;
  if (params.mask == kCausalMask && call.in.size() == fixed + others) has_mask = false;
  const size_t wants = fixed + others + (has_mask ? 1 : 0);
  ASSAY_TRY_DO(check_inputs(call, wants, wants));
  if (has_mask) places.mask = before;
  size_t next = fixed + (has_mask ? 1 : 0);
  if (params.has_status) places.status = next++;
  if (params.has_slopes()) places.slopes = next++;
  return places;
}

Result<int64_t> attention_layer(const GoldenCall& call, size_t i, int64_t layers) {
  ASSAY_TRY(const Integers layer, integers_of(call, i));
  if (layer.count() < 1 || layer.values[0] < 0 || layer.values[0] >= layers)
    return fail(ErrorKind::mismatch, "layer {} of {}", layer.count() < 1 ? -1 : layer.values[0], layers);
  return layer.values[0];
}

// Keys and values lie in the cache.
Result<GoldenOutputs> bypassing_attention(const GoldenCall& call, const SelfParams& params) {
  if (params.value_width > 0)
    return fail(ErrorKind::unsupported, "mlaVHeadSize with keys and values in caches of their own");
  ASSAY_TRY(const SelfPlaces places, cached_places(call, params, 3));
  const size_t of_lengths = places.mask ? 4 : 3;
  SelfSequences of;
  ASSAY_TRY_DO(take_queries(call, params, of));
  ASSAY_TRY(const LayerCache keys, layer_cache(call, 1));
  ASSAY_TRY(const LayerCache values, layer_cache(call, 2));
  ASSAY_TRY_DO(check_key_size(keys.hidden, params.heads.keys, of.depth));
  ASSAY_TRY(of.width, width_of_values(values.hidden, params.heads.keys));
  if (keys.layers != values.layers || keys.batches != values.batches || keys.tokens != values.tokens)
    return fail(ErrorKind::mismatch, "caches of shapes {} and {}", keys.data->meta.shape.text(),
                values.data->meta.shape.text());
  ASSAY_TRY(of.key_counts, lengths_of(call, of_lengths, keys.tokens, "tokenOffset"));
  ASSAY_TRY(of.positions, lengths_of(call, of_lengths + 1, kLongestSequence, "seqLen"));
  ASSAY_TRY(const int64_t layer, attention_layer(call, of_lengths + 2, keys.layers));
  if (of.key_counts.size() != of.positions.size() || std::ssize(of.positions) > keys.batches)
    return fail(ErrorKind::mismatch, "{} lengths of queries, {} of keys, {} batches in the cache",
                of.positions.size(), of.key_counts.size(), keys.batches);
  ASSAY_TRY(of.query_starts, starts_of(of.positions, of.tokens, "seqLen"));
  of.keys = keys.data;
  of.values = values.data;
  const int64_t first = layer * keys.batches * keys.tokens;
  of.key_row = [&, first](int64_t sample, int64_t j) {
    return (first + sample * keys.tokens + j) * keys.hidden;
  };
  of.value_row = [&, first](int64_t sample, int64_t j) {
    return (first + sample * keys.tokens + j) * values.hidden;
  };
  const double otherwise = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, of.depth)));
  return run_fused(call, params, places, of, params.has_scale ? params.scale : otherwise);
}

// The elements of both, one after another.
Result<OperandPtr> joined_rows(const OperandPtr& first, const OperandPtr& second) {
  return concatenated({reshaped(first, Shape{{first->meta.shape.count()}}),
                       reshaped(second, Shape{{second->meta.shape.count()}})},
                      0);
}

// New keys and values come after those that the cache has. Every step is rounded.
Result<GoldenOutputs> caching_attention(const GoldenCall& call, SelfParams params) {
  ASSAY_TRY(const SelfPlaces places, cached_places(call, params, 5));
  const size_t of_lengths = places.mask ? 6 : 5;
  SelfSequences of;
  ASSAY_TRY_DO(take_queries(call, params, of));
  ASSAY_TRY(const auto key, self_tokens(call, 1));
  ASSAY_TRY(const auto value, self_tokens(call, 2));
  ASSAY_TRY(const LayerCache keys, layer_cache(call, 3));
  ASSAY_TRY(const LayerCache values, layer_cache(call, 4));
  if (key.second == params.heads.queries * of.depth) params.heads.keys = params.heads.queries;
  ASSAY_TRY_DO(check_key_size(key.second, params.heads.keys, of.depth));
  ASSAY_TRY(of.width, width_of_values(value.second, params.heads.keys));
  if (key.first != of.tokens || value.first != of.tokens || keys.hidden != key.second ||
      values.hidden != value.second || keys.layers != values.layers || keys.batches != values.batches ||
      keys.tokens != values.tokens)
    return fail(ErrorKind::mismatch, "keys of shape {} do not fit a cache of shape {}",
                shape_of(call, 1).text(), keys.data->meta.shape.text());
  ASSAY_TRY(of.key_counts, lengths_of(call, of_lengths, kLongestSequence, "tokenOffset"));
  ASSAY_TRY(of.positions, lengths_of(call, of_lengths + 1, kLongestSequence, "seqLen"));
  ASSAY_TRY(const int64_t layer, attention_layer(call, of_lengths + 2, keys.layers));
  if (of.key_counts.size() != of.positions.size() || std::ssize(of.positions) > keys.batches)
    return fail(ErrorKind::mismatch, "{} lengths of queries, {} of keys, {} batches in the cache",
                of.positions.size(), of.key_counts.size(), keys.batches);
  ASSAY_TRY(of.query_starts, starts_of(of.positions, of.tokens, "seqLen"));
  for (size_t i = 0; i < of.positions.size(); ++i)
    if (of.key_counts[i] < of.positions[i] || of.key_counts[i] - of.positions[i] > keys.tokens)
      return fail(ErrorKind::mismatch, "batch {} has {} tokens, {} of them new, and a cache of {}", i,
                  of.key_counts[i], of.positions[i], keys.tokens);
  ASSAY_TRY(of.keys, joined_rows(keys.data, call.in[1]));
  ASSAY_TRY(of.values, joined_rows(values.data, call.in[2]));
  const auto row_in = [&of, layer](const LayerCache& cache, int64_t sample, int64_t j) {
    const auto at = static_cast<size_t>(sample);
    const int64_t old = of.key_counts[at] - of.positions[at];
    if (j < old) return ((layer * cache.batches + sample) * cache.tokens + j) * cache.hidden;
    return (cache.layers * cache.batches * cache.tokens + of.query_starts[at] + j - old) * cache.hidden;
  };
  of.key_row = [&](int64_t sample, int64_t j) { return row_in(keys, sample, j); };
  of.value_row = [&](int64_t sample, int64_t j) { return row_in(values, sample, j); };
  AttentionRule rule;
  rule.query_scale = params.query_scale;
  rule.scale = params.scale;
  rule.scales_last = true;
  rule.rounds_steps = true;
  ASSAY_TRY(rule.mask, self_mask(call, params, places, of, 1));
  return run_self(call, params, places, of, std::move(rule));
}

}  // namespace

Result<GoldenOutputs> golden_self_attention(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 3, 12));
  ASSAY_TRY(const SelfParams params, read_self_params(call));
  if (params.calc == kPaEncoder) return pa_encoder(call, params);
  if (params.calc == kPrefixEncoder) return prefix_encoder(call, params);
  return params.bypasses ? bypassing_attention(call, params) : caching_attention(call, params);
}

}  // namespace assay
