// Numbers as NumPy prints them in arrays (one width for all) and by themselves.
#pragma once

#include "assay/tensor/dtype.h"

#include <string>
#include <vector>

namespace assay {

// `elements` of one array, little-endian and unpacked: a word for each, equally wide.
std::vector<std::string> print_elements(DType dtype, Bytes elements);

// One number without padding: 0.1, 1e-05, True, (1+2j).
std::string print_scalar(DType dtype, Bytes element);

}  // namespace assay
