// Arithmetic on sizes that come from a file: empty instead of overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace assay {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Product of dimensions; empty if one is negative or the product does not fit, even where another one is
// zero.
inline std::optional<int64_t> checked_product(std::span<const int64_t> dims) {
  int64_t product = 1;
  bool has_zero = false;
  for (const int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      has_zero = true;
      continue;
    }
    const auto next = checked_multiply(product, d);
    if (!next) return std::nullopt;
    product = *next;
  }
  return has_zero ? 0 : product;
}

}  // namespace assay
