#include "library/given_tensor.h"

#include "assay/base/checked.h"
#include "assay/format/format.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/strided_copy.h"

namespace assay::library {

Result<TensorMeta> meta_of(const assay_tensor& tensor) {
  if (tensor.dtype < 0 || tensor.dtype >= kDTypeCount)
    return fail(ErrorKind::bad_argument, "there is no element type {}", tensor.dtype);
  if (tensor.ndim < 0 || tensor.ndim > static_cast<int32_t>(kMaxDims) ||
      (tensor.ndim > 0 && tensor.shape == nullptr))
    return fail(ErrorKind::bad_argument, "{} dimensions, and {} shape", tensor.ndim,
                tensor.shape == nullptr ? "no" : "a");
  TensorMeta meta{static_cast<DType>(tensor.dtype), {}};
  if (tensor.ndim > 0) meta.shape.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
  const auto count = checked_product(meta.shape.dims);
  if (!count || !checked_multiply(*count, 16))
    return fail(ErrorKind::bad_argument, "the shape {} has a negative dimension or is too large",
                meta.shape.text());
  if (tensor.data == nullptr && *count > 0) return fail(ErrorKind::bad_argument, "the tensor has no data");
  return meta;
}

bool is_dense(const assay_tensor& tensor, const TensorMeta& meta) {
  if (tensor.strides == nullptr) return true;
  int64_t stride = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) return meta.shape.count() == 0;
    stride *= tensor.shape[i];
  }
  return true;
}

void gather(const assay_tensor& tensor, const TensorMeta& meta, std::byte* memory) {
  std::vector<CopyDim> dims;
  int64_t stride = meta.shape.count();
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    stride /= tensor.shape[i];
    dims.push_back({tensor.shape[i], tensor.strides[i], stride});
  }
  copy_strided(size_of(meta.dtype), static_cast<const std::byte*>(tensor.data), memory, dims);
}

Result<OperandPtr> operand_of(const assay_tensor& tensor) {
  ASSAY_TRY(TensorMeta meta, meta_of(tensor));
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  const auto size = static_cast<size_t>(meta.byte_size());
  const bool is_packed = info(meta.dtype).storage_bits < 8;
  if (is_dense(tensor, meta) && !is_packed) return dense_in_borrowed_memory({data, size}, std::move(meta));
  if (!is_dense(tensor, meta) && is_packed)
    return fail(ErrorKind::unsupported, "elements of fewer than 8 bits have no strides");
  std::vector<std::byte> own(size);
  if (is_packed)
    unpack(meta.dtype, data, meta.shape.count(), own.data());
  else
    gather(tensor, meta, own.data());
  return dense_in_memory(std::move(own), std::move(meta));
}

}  // namespace assay::library
