// What stands before the data of a .npy file.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// "<f4"; empty where NumPy has no such type.
std::string_view numpy_descr(DType dtype);

// Header of version 1.0 (2.0 if it must be), byte for byte what NumPy writes.
std::string npy_header(const TensorMeta& meta);

}  // namespace assay
