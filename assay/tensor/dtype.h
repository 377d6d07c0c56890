// Element types: every one that the dump formats can name, with its size and its exact conversion to f32 and
// f64. In memory each element has whole bytes: types of fewer than 8 bits take one byte each (value in the
// low bits, i4 and i2 sign-extended, u1 as 0 or 1). How they are packed in a file is the business of the
// format; see tensor/dense.h.
#pragma once

#include "assay/base/bytes.h"

#include <optional>
#include <span>
#include <string_view>

namespace assay {

enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e5m2,
  f8e4m3fnuz,
  f8e5m2fnuz,
  f8e8m0,
  hif8,
  f6e3m2,
  f6e2m3,
  f4e2m1,
  f4e1m2,
  i64,
  i32,
  i16,
  i8,
  i4,
  i2,
  u64,
  u32,
  u16,
  u8,
  u4,
  u2,
  u1,
  boolean,
  c32,
  c64,
  c128,  // complex: pairs of f16, f32, f64
};
inline constexpr int kDTypeCount = static_cast<int>(DType::c128) + 1;

enum class DTypeKind : uint8_t { real, integer, natural, truth, complex };

struct DTypeInfo {
  std::string_view name;       // "f32": what reports print
  std::string_view long_name;  // "float32": the name numpy and torch use, where they have one
  DTypeKind kind;
  int8_t size;  // bytes of one element in memory
  int16_t
      storage_bits;  // bits of one element as the formats pack it; 8 * size for all but the smallest types
  int8_t mantissa_bits;  // stored fraction bits of a real (or of a component of a complex); 0 for the others
};

const DTypeInfo& info(DType dtype);
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int64_t size_of(DType dtype) { return info(dtype).size; }
inline bool is_complex(DType dtype) { return info(dtype).kind == DTypeKind::complex; }
inline bool is_real(DType dtype) { return info(dtype).kind == DTypeKind::real; }

// "f32", "float32", "torch.float32", "Float32", "half", "bool"… in any case; nothing if unknown.
std::optional<DType> find_dtype(std::string_view name);

// The type of one component: c64 → f32; every other type is its own component.
DType component(DType dtype);
// Of two types the one that tells less apart, whichever comes first: a real one rather than whole numbers,
// else the one with fewer fraction bits. Of complex types the component.
DType coarser(DType a, DType b);
// Components per element: 2 for complex, else 1.
inline int64_t components(DType dtype) { return is_complex(dtype) ? 2 : 1; }

// True where every value is exactly representable in f32 (f16, i8, f8…); i32, u32, i64, u64 and f64 are not.
bool fits_f32(DType dtype);

// Exact widening of `count` components (not elements, for complex). `from` holds count *
// size_of(component(dtype)) bytes. to_f32 requires fits_f32. to_f64 rounds i64 and u64 to nearest, and is
// exact for all others.
void to_f32(DType dtype, const std::byte* from, int64_t count, float* to);
void to_f64(DType dtype, const std::byte* from, int64_t count, double* to);

// Rounding to nearest even with the overflow rule of the type (inf where it has one, else NaN or the largest
// value); integers are truncated towards zero and saturate; NaN becomes 0. Components again.
void from_f64(DType dtype, const double* from, int64_t count, std::byte* to);

// ----- single values, for tables, tests and rounding inside kernels
float f16_to_f32(uint16_t bits);
float bf16_to_f32(uint16_t bits);
uint16_t f64_to_f16(double value);
uint16_t f64_to_bf16(double value);
uint16_t f32_to_f16(float value);
uint16_t f32_to_bf16(float value);

}  // namespace assay
