// OpenBLAS, loaded when the first matrices are multiplied: most commands never need it, and its kernels are
// chosen while it is loaded.
#pragma once

#include "assay/base/result.h"

#include <cstdint>

namespace assay {

// c = op(a) op(b), row-major with the given distances between rows; op transposes where it is told to.
template <class T>
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_stride = 0;
  const T* b = nullptr;
  int64_t b_stride = 0;
  T* c = nullptr;
  int64_t c_stride = 0;
};

constexpr int64_t kMostBlasRows = INT32_MAX;

// An error where the library is not there. From any thread, any number of times.
Result<void> load_blas();

// Precondition: load_blas() succeeded.
void multiply(const Gemm<float>& gemm);
void multiply(const Gemm<double>& gemm);

}  // namespace assay
