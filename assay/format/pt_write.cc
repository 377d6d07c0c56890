#include "assay/format/pt_write.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape.dims[i], 1);
  }
  return strides;
}

}  // namespace

PickledTensor with_own_storage(const TensorMeta& meta, size_t key) {
  return {.shape = meta.shape, .key = key, .stored = meta, .strides = contiguous_strides(meta.shape)};
}

void add_tensor(PickleWriter& pickle, const PickledTensor& tensor, const TorchType& type) {
  const bool untyped = type.storage_class.empty();
  const std::string_view wants_gradient = tensor.requires_grad ? "\x88" : "\x89";
  if (tensor.is_parameter) pickle.global("torch._utils", "_rebuild_parameter").op("(");
  pickle.global("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2")
      .op("((")
      .string("storage");
  if (untyped)
    pickle.global("torch.storage", "UntypedStorage");
  else
    pickle.global("torch", type.storage_class);
  pickle.string(std::to_string(tensor.key))
      .string("cpu")
      .integer(untyped ? tensor.stored.byte_size() : tensor.stored.shape.count())
      .op("tQ");
  pickle.integer(tensor.offset).tuple(tensor.shape.dims).tuple(tensor.strides);
  pickle.op(tensor.is_parameter ? "\x89" : wants_gradient);
  pickle.global("collections", "OrderedDict").op(")R");
  if (untyped) pickle.global("torch", type.dtype_name);
  pickle.op("tR");
  if (tensor.is_parameter) pickle.op(wants_gradient).global("collections", "OrderedDict").op(")RtR");
}

}  // namespace assay
