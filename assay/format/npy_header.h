// The header of a .npy file, wherever its bytes lie (a file of its own, an entry of a .npz).
#pragma once

#include "assay/format/format.h"
#include "assay/format/npy_write.h"

namespace assay {

struct NpyHeader {
  TensorMeta meta;
  bool big_endian = false;
  bool fortran_order = false;
  int64_t size = 0;  // bytes before the data
};

// `total`: bytes of header and data together; checked against the shape. `name` is for messages.
// options.raw_dtype is the type of elements that the header calls raw bytes ('V2'), if its size fits.
Result<NpyHeader> read_npy_header(const ReadBytes& read, int64_t total, const FormatOptions& options,
                                  std::string_view name);

// What stands before the data, whatever the elements are: also of objects and texts, which are no tensors.
struct NpyStart {
  std::string descr;  // "|O", "<U5"
  int64_t size = 0;   // bytes before the data
};
Result<NpyStart> read_npy_start(const ReadBytes& read, int64_t total, int64_t memory, std::string_view name);

// The elements lie in another order than row-major.
bool is_turned(const NpyHeader& header);
// Turns the dense bytes behind the header into the row-major little-endian tensor.
Result<OperandPtr> tensor_from_npy(OperandPtr data, const NpyHeader& header);

// The type of a dtype string such as "<f4"; an error says why it cannot be computed with. `name` is for
// messages.
Result<DType> dtype_from_numpy(std::string_view descr, std::string_view name);

}  // namespace assay
