// A tensor in a caller's memory, and what may be wrong with its description.
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/operand.h"
#include "include/assay/assay.h"

#include <cstddef>

namespace assay::library {

Result<TensorMeta> meta_of(const assay_tensor& tensor);

// One element behind the other, so that it can be read where it is.
bool is_dense(const assay_tensor& tensor, const TensorMeta& meta);

// The elements of a tensor with strides, one after another. `memory` holds meta.byte_size() bytes.
void gather(const assay_tensor& tensor, const TensorMeta& meta, std::byte* memory);

// Reads it block by block: in place where it is dense, and otherwise a copy. The memory has to outlive it.
Result<OperandPtr> operand_of(const assay_tensor& tensor);

}  // namespace assay::library
