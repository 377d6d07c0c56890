// The conversions that are worth a vector kernel of their own, chosen at run time for the CPU.
#pragma once

#include "assay/base/bytes.h"

namespace assay {

// Little-endian 16-bit patterns, aligned or not, to f32. Exact; NaN payloads are kept.
void widen_f16(const std::byte* from, int64_t count, float* to);
void widen_bf16(const std::byte* from, int64_t count, float* to);
// The same to f64; also of f32.
void widen_f16(const std::byte* from, int64_t count, double* to);
void widen_bf16(const std::byte* from, int64_t count, double* to);
void widen_f32(const std::byte* from, int64_t count, double* to);

// f64 to 16-bit patterns, to nearest even. NaN payloads are kept as far as they fit.
void narrow_f16(const double* from, int64_t count, std::byte* to);
void narrow_bf16(const double* from, int64_t count, std::byte* to);
// In place, to nearest even: the numbers that the type holds.
void round_f16(double* values, int64_t count);
void round_bf16(double* values, int64_t count);

}  // namespace assay
