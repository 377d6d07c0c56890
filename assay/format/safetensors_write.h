// What stands before the data of a safetensors file: docs/formats/safetensors.md
#pragma once

#include "assay/tensor/operand.h"

#include <optional>
#include <span>
#include <string>

namespace assay {

std::optional<DType> find_safetensors_dtype(std::string_view name);  // "BF16"
std::string_view safetensors_dtype(DType dtype);                     // empty: the format cannot hold it

struct SafetensorsPlace {
  std::string name;
  TensorMeta meta;
  int64_t size = 0;  // bytes of its data
};
// The length and the JSON text. The data of the tensors follow in this order.
std::string safetensors_header(std::span<const SafetensorsPlace> tensors);

}  // namespace assay
