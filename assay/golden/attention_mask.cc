#include "assay/golden/attention_mask.h"

#include "assay/golden/numbers.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cmath>

namespace assay {

Result<OperandPtr> kept_in_memory(OperandPtr data, int64_t memory) {
  if (data->meta.byte_size() > memory) return data;
  ASSAY_TRY(std::vector<std::byte> bytes, read_whole(*data, memory));
  return dense_in_memory(std::move(bytes), data->meta);
}

Result<OperandPtr> from_blocks(const OperandPtr& stored, size_t leading, int64_t memory) {
  const std::vector<int64_t>& dims = stored->meta.shape.dims;
  if (dims.size() != leading + 3)
    return fail(ErrorKind::mismatch, "blocks of columns are not of the shape {}", stored->meta.shape.text());
  Shape plain, in_blocks;
  int64_t before = 1;
  for (size_t i = 0; i < leading; ++i) {
    plain.dims.push_back(dims[i]);
    before *= dims[i];
  }
  const int64_t across = dims[leading], rows = dims[leading + 1], width = dims[leading + 2];
  plain.dims.insert(plain.dims.end(), {rows, across * width});
  in_blocks.dims = {before, rows, across, width};
  ASSAY_TRY(const OperandPtr view,
            strided(stored, in_blocks, {across * rows * width, width, rows * width, 1}, 0));
  return kept_in_memory(reshaped(view, plain), memory);
}

Result<void> MaskTensor::read(const MaskRow& row, int64_t number, double factor, std::span<double> mask,
                              Scratch& scratch) const {
  const int64_t sample = samples == 1 ? 0 : row.sample, head = heads == 1 ? 0 : row.head;
  const int64_t at = ((sample * heads + head) * rows + (rows == 1 ? 0 : number)) * columns;
  ASSAY_TRY_DO(read_numbers(*data, at, std::ssize(mask), mask.data(), scratch));
  if (factor != 1)
    for (double& each : mask) each *= factor;
  return {};
}

Result<MaskTensor> mask_tensor(const GoldenCall& call, size_t i, int64_t samples, int64_t heads,
                               bool by_head) {
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no mask", call.type);
  OperandPtr data = call.in[i];
  if (is_complex(data->meta.dtype)) return fail(ErrorKind::mismatch, "the mask is complex");
  if (call.soc == Soc::ascend_310p && data->meta.shape.dims.size() == 4 && data->meta.shape.dims[3] == 16) {
    ASSAY_TRY(data, from_blocks(data, 1, call.memory / 4));
  } else {
    ASSAY_TRY(data, kept_in_memory(data, call.memory / 4));
  }
  const std::vector<int64_t>& dims = data->meta.shape.dims;
  const auto misfit = [&] {
    return fail(ErrorKind::mismatch, "a mask of shape {} for {} samples and {} heads",
                data->meta.shape.text(), samples, heads);
  };
  if (dims.size() < 2 || dims.size() > 4) return misfit();
  MaskTensor out{data, 1, 1, dims[dims.size() - 2], dims[dims.size() - 1]};
  if (dims.size() == 3) {
    if (dims[0] == 1 || (dims[0] == heads && by_head))
      out.heads = dims[0];
    else if (dims[0] == samples)
      out.samples = dims[0];
    else if (dims[0] == heads)
      out.heads = dims[0];
    else if (dims[0] == samples * heads) {
      out.samples = samples;
      out.heads = heads;
    } else {
      return misfit();
    }
  } else if (dims.size() == 4) {
    out.samples = dims[0];
    out.heads = dims[1];
    if ((out.samples != 1 && out.samples != samples) || (out.heads != 1 && out.heads != heads))
      return misfit();
  }
  return out;
}

AttentionMask causal_mask(std::vector<int64_t> positions, double hidden, int64_t window) {
  return [positions = std::move(positions), hidden, window](const MaskRow& row, std::span<double> mask,
                                                            Scratch&) -> Result<void> {
    const int64_t keys = std::ssize(mask);
    const int64_t self = row.position + keys - positions[static_cast<size_t>(row.sample)];
    for (int64_t j = 0; j < keys; ++j)
      mask[static_cast<size_t>(j)] = j > self || (window > 0 && j <= self - window) ? hidden : 0;
    return {};
  };
}

Result<AttentionMask> alibi_mask(const GoldenCall& call, size_t mask, size_t slopes, int64_t heads,
                                 std::vector<int64_t> positions, Alibi kind) {
  ASSAY_TRY(const Numbers slope, numbers_of(call, slopes));
  if (slope.count() != heads)
    return fail(ErrorKind::mismatch, "{} slopes for {} heads", slope.count(), heads);
  ASSAY_TRY(const Numbers given, numbers_of(call, mask));
  const std::vector<int64_t>& dims = given.shape.dims;
  if (dims.size() != 2 || dims[0] < 2 || dims[1] < 2)
    return fail(ErrorKind::unsupported,
                "a compressed alibi mask of shape {}: only rows and columns are known", given.shape.text());
  // Factors by distance, or by key, as far as the tensor has them.
  std::vector<double> factors;
  const int64_t rows = dims[0], columns = dims[1];
  if (kind == Alibi::by_key) {
    for (int64_t j = 0; j < std::min(rows, columns); ++j)
      factors.push_back(given.values[static_cast<size_t>((rows - 1) * columns + j)]);
  } else {
    for (int64_t i = 0; i < rows; ++i) factors.push_back(given.values[static_cast<size_t>(i * columns)]);
  }
  const double sign = factors[1] < 0 ? -1 : 1, hidden = given.values[1];
  const auto factor = [factors, sign, kind](int64_t i) {
    if (i < std::ssize(factors)) return factors[static_cast<size_t>(i)];
    const auto far = static_cast<double>(i);
    return sign * (kind == Alibi::by_root ? std::sqrt(far) : far);
  };
  return [slope = slope.values, positions = std::move(positions), factor, hidden, kind](
             const MaskRow& row, std::span<double> out, Scratch&) -> Result<void> {
    const double of_head = slope[static_cast<size_t>(row.head)];
    const int64_t keys = std::ssize(out);
    const int64_t self = row.position + keys - positions[static_cast<size_t>(row.sample)];
    for (int64_t j = 0; j < keys; ++j) {
      const double each = j > self ? hidden : factor(kind == Alibi::by_key ? j : self - j);
      out[static_cast<size_t>(j)] = of_head * each;
    }
    return {};
  };
}

}  // namespace assay
