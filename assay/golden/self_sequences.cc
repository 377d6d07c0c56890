#include "assay/golden/self_sequences.h"

#include <algorithm>

namespace assay {
namespace {

constexpr double kHiddenNorm = -10000, kHiddenFactor = -3e38;

double mask_factor(const SelfParams& params) {
  const bool is_plain = params.is_precise || params.written == DType::f16 || params.is_alibi();
  return is_plain ? 1 : kHiddenFactor;
}

Shape self_output_shape(const GoldenCall& call, const Heads& heads, const SelfSequences& of) {
  Shape shape = shape_of(call, 0);
  shape.dims.back() = shape.dims.size() == 2 ? heads.queries * of.width : of.width;
  if (!call.out.empty() && call.out[0].shape.count() == shape.count()) return call.out[0].shape;
  return shape;
}

}  // namespace

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
  ASSAY_TRY_DO(given.flag_or({"isTriuMask"}, false));  // only makes it faster
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

Result<std::pair<int64_t, int64_t>> self_tokens(const GoldenCall& call, size_t i, bool is_int8) {
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

}  // namespace assay
