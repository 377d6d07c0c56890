#include "assay/golden/attention_mask.h"
#include "assay/golden/attentions.h"
#include "assay/golden/numbers.h"
#include "assay/golden/torch_functions.h"

#include <limits>

namespace assay {
namespace {

RowsOf rows_of_head(const OperandPtr& data, int64_t head) {
  const std::vector<int64_t>& dims = data->meta.shape.dims;
  RowsOf rows{data, {}, dims[3]};
  for (int64_t i = 0; i < dims[2]; ++i) rows.starts.push_back((head * dims[2] + i) * dims[3]);
  return rows;
}

Result<AttentionMask> mask_of(const GoldenCall& call, bool is_causal, int64_t tokens, int64_t keys) {
  if (is_causal) {
    const auto samples = static_cast<size_t>(shape_of(call, 0).dims[0]);
    return causal_mask(std::vector<int64_t>(samples, tokens), -std::numeric_limits<double>::infinity(), 0);
  }
  if (call.in.size() < 4) return AttentionMask();
  if (!is_real(dtype_of(call, 3)))
    return fail(ErrorKind::unsupported, "a mask of {}", name(dtype_of(call, 3)));
  const std::vector<int64_t>& dims = shape_of(call, 0).dims;
  ASSAY_TRY(const MaskTensor mask, mask_tensor(call, 3, dims[0], dims[1], true));
  if (!mask.has(tokens, keys))
    return fail(ErrorKind::mismatch, "a mask of shape {} for {} queries and {} keys",
                shape_of(call, 3).text(), tokens, keys);
  return AttentionMask([mask](const MaskRow& row, std::span<double> to, Scratch& scratch) {
    return mask.read(row, row.position, 1, to, scratch);
  });
}

}  // namespace

Result<GoldenOutputs> golden_torch_attention(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 3, 4));
  for (size_t i = 0; i < 3; ++i)
    if (!is_real(dtype_of(call, i)) || shape_of(call, i).dims.size() != 4)
      return fail(ErrorKind::unsupported, "attention of shape {}", shape_of(call, i).text());
  const std::vector<int64_t>&q = shape_of(call, 0).dims, &k = shape_of(call, 1).dims,
        &v = shape_of(call, 2).dims;
  if (k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1] || k[2] != v[2] || k[3] != q[3])
    return fail(ErrorKind::unsupported, "attention of shapes {}, {} and {}", shape_of(call, 0).text(),
                shape_of(call, 1).text(), shape_of(call, 2).text());
  ASSAY_TRY(const bool is_causal, call.params.flag_or({"isCausal"}, false));
  if (is_causal && (q[2] != k[2] || call.in.size() > 3))
    return fail(ErrorKind::unsupported, "a causal mask for {} queries and {} keys", q[2], k[2]);
  Attention attention;
  attention.rule.dtype = dtype_of(call, 0);
  ASSAY_TRY(attention.rule.scale, call.params.real_or({"scale"}, 1));
  ASSAY_TRY(attention.rule.mask, mask_of(call, is_causal, q[2], k[2]));
  attention.jobs = q[0] * q[1];
  attention.most_keys = k[2];
  attention.key_width = k[3];
  attention.value_width = v[3];
  attention.job = [&call, &q, &v](int64_t number) -> Result<AttentionJob> {
    AttentionJob job{rows_of_head(call.in[1], number),
                     rows_of_head(call.in[2], number),
                     rows_of_head(call.in[0], number),
                     {},
                     number / q[1],
                     number % q[1],
                     q[2]};
    for (int64_t i = 0; i < q[2]; ++i) job.outputs.push_back((number * q[2] + i) * v[3]);
    return job;
  };
  ASSAY_TRY(ComputedTensor out,
            ComputedTensor::make(attention.rule.dtype, Shape{{q[0], q[1], q[2], v[3]}}, call.memory));
  return attended(attention, call.memory, std::move(out), {});
}

}  // namespace assay
