// What stands around the bytes of a tensor in each of the formats that are written. The bytes themselves go
// to the disk as they are.
#pragma once

#include "assay/format/pt_write.h"
#include "assay/tensor/operand.h"
#include "capture/writer.h"

namespace assay::capture {

// As ATB hands them over: decimal numbers, dimensions with commas between them.
struct AtbAttributes {
  std::string format, dtype, dims;
};
enum class AtbContent : uint8_t { data, description, statistics };

// Without its data a file still says what the tensor was, and what its statistics are if they were taken.
// `more`: lines of the header of our own.
Task atb_task(std::string path, AtbAttributes attributes, AtbContent content, int64_t bytes,
              std::string more = {});

// An error where the format has no such type.
Result<Task> npy_task(std::string path, const TensorMeta& meta);
Result<Task> pt_task(std::string path, const TensorMeta& meta, PtObject object);
Result<Task> safetensors_task(std::string path, const TensorMeta& meta, const std::string& name);

// The type that an ATB number stands for; empty: none that we compute with.
std::optional<DType> atb_dtype(const std::string& number);

}  // namespace assay::capture
