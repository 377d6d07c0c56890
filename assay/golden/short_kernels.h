// Rows and functions of tensors of 16 bits, in f32 on vectors. Every CPU gives the same bits.
// What f32 itself may be off by is in the bound: docs/operators/rows.md.
#pragma once

#include <cstdint>

namespace assay::kernel {

// What should come out, before it is rounded to 16 bits, and what is allowed of it.
struct ShortOut {
  float* values;
  float* allowed;
};

void gelu_by_erf_short(const float* x, int64_t n, ShortOut out);
void softmax_short(const float* x, int64_t n, ShortOut out);  // of one row

}  // namespace assay::kernel
