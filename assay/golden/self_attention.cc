#include "assay/golden/attention_mask.h"
#include "assay/golden/attentions.h"
#include "assay/golden/numbers.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

enum CalcType : int64_t {
  kEncoderOrDecoder = 0,
  kEncoder = 1,
  kDecoder = 2,
  kPaEncoder = 3,
  kPrefixEncoder = 4
};
enum SelfMask : int64_t {
  kNoMask = 0,
  kNormMask = 1,
  kAlibiMask = 2,
  kNormCompress = 3,
  kAlibiCompress = 4,
  kAlibiSqrt = 5,
  kAlibiLeft = 6,
  kWindowMask = 7,
  kWindowCompress = 8,
  kCausalMask = 9
};
constexpr double kHiddenNorm = -10000, kHiddenFactor = -3e38;
constexpr int64_t kLongestSequence = int64_t{1} << 40;

struct SelfParams {
  Heads heads;
  int64_t calc = kEncoderOrDecoder, mask = kNoMask, value_width = 0, window = 0;
  bool bypasses = false, is_precise = false, has_status = false, has_scale = false;
  double query_scale = 1, scale = 1;
  std::optional<std::pair<double, double>> clamp;
  DType written = DType::f16;            // of the output
  std::optional<WeightSteps> int8 = {};  // of queries, keys, values and weights

  bool has_slopes() const { return mask == kAlibiCompress || mask == kAlibiSqrt || mask == kAlibiLeft; }
  bool is_alibi() const { return mask == kAlibiMask || has_slopes(); }
};

Result<SelfParams> read_self_params(const GoldenCall& call) {
  const GoldenParams& given = call.params;
  SelfParams params;
  ASSAY_TRY(params.heads, read_heads(given));
  constexpr int64_t kCalcs[] = {0, 1, 2, 3, 4}, kConfigs[] = {0, 1}, kClamps[] = {0, 1},
                    kKernels[] = {0, 1, 2};
  constexpr int64_t kMasks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, kQuants[] = {0, 1, 2, 3}, kLayouts[] = {0, 1};
  ASSAY_TRY(params.calc, given.choice_or({"calcType"}, kEncoderOrDecoder, kCalcs));
  ASSAY_TRY(const int64_t config, given.choice_or({"kvcacheCfg", "kvCacheCfg"}, 0, kConfigs));
  params.bypasses = config == 1;
  ASSAY_TRY(params.mask, given.choice_or({"maskType"}, kNoMask, kMasks));
  ASSAY_TRY(const int64_t kernel, given.choice_or({"kernelType"}, 0, kKernels));
  if (kernel == 2) return fail(ErrorKind::unsupported, "kernelType 2 has an exponential of its own");
  params.is_precise = kernel == 1;
  params.has_scale = given.has({"qScale"}) || given.has({"qkScale"});
  ASSAY_TRY(params.query_scale, given.real_or({"qScale"}, 1));
  ASSAY_TRY(params.scale, given.real_or({"qkScale"}, 1));
  ASSAY_TRY(const int64_t clamps, given.choice_or({"clampType"}, 0, kClamps));
  if (clamps == 1) {
    ASSAY_TRY(const double low, given.real_or({"clampMin"}, 0));
    ASSAY_TRY(const double high, given.real_or({"clampMax"}, 0));
    if (!(low <= high)) return fail(ErrorKind::bad_argument, "clampMin {} is above clampMax {}", low, high);
    params.clamp = {low, high};
  }
  ASSAY_TRY_DO(given.integer_or({"isTriuMask"}, 0));  // only makes it faster
  ASSAY_TRY(params.has_status, given.flag_or({"batchRunStatusEnable"}, false));
  ASSAY_TRY(params.value_width, given.integer_or({"mlaVHeadSize"}, 0));
  if (params.value_width < 0) return fail(ErrorKind::bad_argument, "mlaVHeadSize is {}", params.value_width);
  ASSAY_TRY(params.window, given.integer_or({"windowSize"}, 0));
  if (params.mask == kWindowCompress && params.window <= 0)
    return fail(ErrorKind::bad_argument, "windowSize is {}", params.window);
  ASSAY_TRY(const int64_t quant, given.choice_or({"quantType"}, 0, kQuants));
  if (quant == 1) return fail(ErrorKind::unsupported, "quantType 1 is kept free by ATB");
  if (quant != 0 && (params.calc != kPaEncoder || params.value_width > 0))
    return fail(ErrorKind::bad_argument, "quantType {} is for a PA encoder with values of its own", quant);
  if (quant == 2) params.int8 = WeightSteps::divided;
  if (quant == 3) params.int8 = WeightSteps::by_block;
  params.written = dtype_of(call, 0);
  if (params.int8) {
    ASSAY_TRY(params.written, type_of_int8_attention(call));
  }
  ASSAY_TRY(const int64_t layout, given.choice_or({"inputLayout"}, 0, kLayouts));
  if (layout != 0) return fail(ErrorKind::unsupported, "inputLayout {}: heads before tokens", layout);
  ASSAY_TRY(const int64_t scale_type, given.integer_or({"scaleType"}, 0));
  ASSAY_TRY(const int64_t cache_type, given.integer_or({"cacheType"}, 0));
  if (scale_type != 0 || cache_type != 0)
    return fail(ErrorKind::unsupported, "scaleType {} with cacheType {}", scale_type, cache_type);
  return params;
}

// Where the inputs are that depend on parameters.
struct SelfPlaces {
  std::optional<size_t> mask, status, slopes;
  Int8Places int8 = {};
};

// Queries, keys and values of all samples.
struct SelfSequences {
  OperandPtr queries, keys, values;
  int64_t tokens = 0;  // queries
  int64_t depth = 0, width = 0;
  std::vector<int64_t> positions, key_counts, query_starts;  // per sample
  // Elements before the keys and values of the first head.
  std::function<int64_t(int64_t sample, int64_t key)> key_row, value_row;
};

// Tokens of a tensor that may have heads, or samples, as dimensions.
Result<std::pair<int64_t, int64_t>> self_tokens(const GoldenCall& call, size_t i, bool is_int8 = false) {
  const Shape& shape = shape_of(call, i);
  if (is_int8 ? dtype_of(call, i) != DType::i8 : !is_real(dtype_of(call, i)))
    return fail(ErrorKind::mismatch, "input {} of {} is {}", i, call.type, name(dtype_of(call, i)));
  const std::vector<int64_t>& dims = shape.dims;
  if (dims.size() < 2 || dims.size() > 4)
    return fail(ErrorKind::mismatch, "input {} of {} has the shape {}", i, call.type, shape.text());
  const int64_t tokens = dims.size() == 4 ? dims[0] * dims[1] : dims[0];
  int64_t hidden = 1;
  for (size_t d = dims.size() == 4 ? 2 : 1; d < dims.size(); ++d) hidden *= dims[d];
  return std::pair(tokens, hidden);
}

Result<void> take_queries(const GoldenCall& call, const SelfParams& params, SelfSequences& out) {
  ASSAY_TRY(const auto query, self_tokens(call, 0, params.int8.has_value()));
  const int64_t heads = params.heads.queries;
  if (query.second % heads != 0)
    return fail(ErrorKind::mismatch, "queries of shape {} for {} heads", shape_of(call, 0).text(), heads);
  out.queries = call.in[0];
  out.tokens = query.first;
  out.depth = query.second / heads;
  return {};
}

Result<int64_t> width_of_values(int64_t hidden, int64_t heads) {
  if (hidden % heads != 0)
    return fail(ErrorKind::mismatch, "values of {} elements for {} heads", hidden, heads);
  return hidden / heads;
}

Result<void> check_key_size(int64_t hidden, int64_t heads, int64_t depth) {
  if (heads * depth == hidden) return {};
  return fail(ErrorKind::mismatch, "keys of {} elements are not {} heads of {}", hidden, heads, depth);
}

double mask_factor(const SelfParams& params) {
  const bool is_plain = params.is_precise || params.written == DType::f16 || params.is_alibi();
  return is_plain ? 1 : kHiddenFactor;
}

Result<AttentionMask> self_mask(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                                const SelfSequences& of, double factor) {
  const double hidden = factor == 1 ? kHiddenNorm : kHiddenFactor;
  switch (params.mask) {
    case kNormCompress:
    case kCausalMask:
      return causal_mask(of.positions, hidden, 0);
    case kWindowCompress:
      return causal_mask(of.positions, hidden, params.window);
    case kAlibiCompress:
    case kAlibiSqrt:
    case kAlibiLeft: {
      const Alibi kind = params.mask == kAlibiCompress ? Alibi::by_distance
                         : params.mask == kAlibiSqrt   ? Alibi::by_root
                                                       : Alibi::by_key;
      return alibi_mask(call, *places.mask, *places.slopes, params.heads.queries, of.positions, kind);
    }
    default:
      break;
  }
  if (!places.mask) {
    if (params.mask == kWindowMask && params.window > 0)
      return causal_mask(of.positions, hidden, params.window);
    return AttentionMask();
  }
  const int64_t samples = std::ssize(of.positions);
  ASSAY_TRY(const MaskTensor mask,
            mask_tensor(call, *places.mask, samples, params.heads.queries, params.mask == kAlibiMask));
  const int64_t rows = samples == 0 ? 0 : std::ranges::max(of.positions);
  const int64_t columns = samples == 0 ? 0 : std::ranges::max(of.key_counts);
  if (!mask.has(rows, columns)) {
    if (params.mask != kNormMask && params.mask != kNoMask)
      return fail(ErrorKind::mismatch, "a mask of {} x {} for {} queries and {} keys", mask.rows,
                  mask.columns, rows, columns);
    return causal_mask(of.positions, hidden, 0);
  }
  return [mask, factor](const MaskRow& row, std::span<double> to, Scratch& scratch) -> Result<void> {
    return mask.read(row, row.position, factor, to, scratch);
  };
}

Shape self_output_shape(const GoldenCall& call, const Heads& heads, const SelfSequences& of) {
  Shape shape = shape_of(call, 0);
  shape.dims.back() = shape.dims.size() == 2 ? heads.queries * of.width : of.width;
  if (!call.out.empty() && call.out[0].shape.count() == shape.count()) return call.out[0].shape;
  return shape;
}

Result<GoldenOutputs> run_self(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                               const SelfSequences& of, AttentionRule rule) {
  const Heads& heads = params.heads;
  rule.dtype = params.written;
  rule.clamp = params.clamp;
  ASSAY_TRY(ComputedTensor out,
            ComputedTensor::make(rule.dtype, self_output_shape(call, heads, of), call.memory));
  ASSAY_TRY(const std::vector<int64_t> runs, running_batches(call, places.status, of.positions.size()));

  Attention attention;
  UnknownRows unknown;
  std::vector<int64_t> samples;
  const int64_t row = heads.queries * of.width;
  for (int64_t i = 0; i < std::ssize(of.positions); ++i) {
    const auto at = static_cast<size_t>(i);
    if (runs[at] == 0)
      unknown.add(of.query_starts[at] * row, of.positions[at] * row);
    else if (of.positions[at] > 0)
      samples.push_back(i);
    attention.most_keys = std::max(attention.most_keys, of.key_counts[at]);
  }
  attention.rule = std::move(rule);
  attention.key_width = of.depth;
  attention.value_width = of.width;
  attention.jobs = std::ssize(samples) * heads.keys;
  attention.job = [&](int64_t number) -> Result<AttentionJob> {
    const int64_t sample = samples[static_cast<size_t>(number / heads.keys)], head = number % heads.keys;
    const auto at = static_cast<size_t>(sample);
    AttentionJob job;
    job.sample = sample;
    job.first_head = head * heads.per_key();
    job.positions = of.positions[at];
    job.keys = {of.keys, {}, of.depth};
    job.values = {of.values, {}, of.width};
    for (int64_t j = 0; j < of.key_counts[at]; ++j) {
      job.keys.starts.push_back(of.key_row(sample, j) + head * of.depth);
      // Values that are the first elements of their keys lie where those do.
      job.values.starts.push_back(of.value_row(sample, j) +
                                  head * (of.values == of.keys ? of.depth : of.width));
    }
    add_queries(of.queries, heads, of.query_starts[at], of.depth, of.width, job);
    return job;
  };
  return attended(attention, call.memory, std::move(out), unknown);
}

// By a kernel of its own: rounded once.
Result<GoldenOutputs> run_fused(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                                const SelfSequences& of, double scale) {
  AttentionRule rule;
  rule.query_scale = params.query_scale;
  rule.scale = scale;
  rule.rounds_scores = !params.is_precise && !params.int8;
  if (params.int8) {
    if (params.query_scale != 1)
      return fail(ErrorKind::unsupported, "qScale {} of int8 queries", params.query_scale);
    ASSAY_TRY(rule.int8, int8_heads(call, places.int8, *params.int8, params.heads.queries));
  }
  ASSAY_TRY(rule.mask, self_mask(call, params, places, of, mask_factor(params)));
  return run_self(call, params, places, of, std::move(rule));
}

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
