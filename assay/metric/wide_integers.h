// Differences of 64-bit integers, which f64 cannot hold: taken before they are rounded.
#pragma once

#include "assay/base/bytes.h"
#include "assay/tensor/dtype.h"

#include <cstdint>

namespace assay {

inline bool is_integer(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
}

inline bool is_wide_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

// Two integer types, of which one has 64 bits.
inline bool need_wide_differences(DType a, DType b) {
  return is_integer(a) && is_integer(b) && (is_wide_integer(a) || is_wide_integer(b));
}

// Holds the difference of any two 64-bit integers.
__extension__ using WideInteger = __int128;

// One of the components; rounded: the same as f64, exact but for 64 bits.
inline WideInteger wide_integer(DType dtype, const std::byte* from, const double* rounded, int64_t i) {
  if (!is_wide_integer(dtype)) return static_cast<WideInteger>(rounded[i]);
  const Bytes rest(from + i * 8, 8);
  if (dtype == DType::u64) return load_le<uint64_t>(rest);
  return load_le<int64_t>(rest);
}

}  // namespace assay
