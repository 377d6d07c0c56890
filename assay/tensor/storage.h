// The storage formats of the NPU (FRACTAL_NZ, NC1HWC0, …) turned into the row-major tensor that the model
// sees. Formulas: docs/formats/storage.md
#pragma once

#include "assay/tensor/operand.h"

#include <string_view>

namespace assay {

// The numbers that GE dumps and ATB use. Those that have a rule here; name() knows them all.
enum class StorageFormat : int {
  undefined = -1,
  nchw = 0,
  nhwc = 1,
  nd = 2,
  nc1hwc0 = 3,
  fractal_z = 4,
  nc1hwc0_c04 = 12,
  chwn = 14,
  hwcn = 16,
  ndhwc = 27,
  fractal_zz = 28,
  fractal_nz = 29,
  ncdhw = 30,
  dhwcn = 31,
  ndc1hwc0 = 32,
  fractal_z_3d = 33,
  cn = 34,
  nc = 35,
  dhwnc = 36,
  ncl = 47,
  fractal_nz_c0_16 = 50,
  fractal_nz_c0_32 = 51,
  fractal_nz_c0_2 = 52,
  fractal_nz_c0_4 = 53,
  fractal_nz_c0_8 = 54,
};

std::string_view name(StorageFormat format);  // "FRACTAL_NZ"; empty for a number that means nothing to us
std::string label(StorageFormat format);      // the name, or "format 77"

// Elements lie in row-major order of the storage shape, without padding: ND, NCHW, NHWC…
bool is_plain(StorageFormat format);

// `stored` lies in `format` with its storage shape; the result has `original` as its shape and is row-major.
// Formats that are already plain come back as they are, or transposed where `original` names the same
// dimensions in another order. Shapes that do not fit each other are a mismatch, formats without a rule are
// unsupported, unless both shapes are equal: then the tensor comes back as it is. groups: group count of a
// grouped convolution weight (sub_format), 0 or 1 for none.
Result<OperandPtr> to_plain(OperandPtr stored, StorageFormat format, const Shape& original, int groups = 1);

}  // namespace assay
