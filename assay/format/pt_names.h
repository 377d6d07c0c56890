// The fixed list of Python names that may stand in a .pt file, and what each means to us. Every other name is
// refused: it is never looked up, and what is made of it is only searched for tensors.
#pragma once

#include "assay/tensor/dtype.h"

#include <optional>
#include <string_view>

namespace assay {

enum class PtMeaning : uint8_t {
  refused,
  plain,         // a value without tensors: a device, a dtype
  elements,      // a container of the elements of its first argument: set, torch.Size
  mapping,       // a container of pairs: OrderedDict
  tensor,        // (storage, offset, size, stride, …)
  typed_tensor,  // (storage, offset, size, stride, requires_grad, hooks, dtype, …)
  wrapper,       // its first argument is the tensor: Parameter
  from_type,     // (function, class, arguments, state): a call of the function
  array,         // numpy, with everything in the state
  buffer_array,  // numpy, protocol 5: (bytes, dtype, shape, order)
  scalar,        // numpy: (dtype, bytes)
  unreadable,    // a tensor of a kind that we cannot compute with
};

struct PtName {
  std::string_view name;
  PtMeaning meaning = PtMeaning::refused;
  std::string_view reason = {};  // of an unreadable one
};

PtName find_pt_name(std::string_view name);

// torch.FloatStorage → f32. `dtype` is empty for an untyped storage (elements are bytes) and for types
// without meaning to us.
struct PtStorageClass {
  std::string_view name;
  std::optional<DType> dtype;
  int element_size = 1;
};
const PtStorageClass* find_pt_storage_class(std::string_view name);  // null if it is no storage class

// torch.float8_e4m3fn → f8e4m3fn.
std::optional<DType> find_torch_dtype(std::string_view name);

// For writing: "FloatStorage", or empty where the type travels in an untyped storage (torch 2.1 and later),
// with its dtype name.
struct TorchType {
  std::string_view storage_class, dtype_name;
};
std::optional<TorchType> torch_type(DType dtype);  // nothing where torch has no such type

}  // namespace assay
