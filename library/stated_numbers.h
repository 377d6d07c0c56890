// What dump.json says of the elements of a tensor, as Python's json writes it.
#pragma once

#include "assay/tensor/dtype.h"

#include <string>

namespace assay::library {

// As json.dumps writes a float: what repr() gives, and NaN, Infinity.
void append_real(std::string& out, double value);

// The four numbers of a tensor of many elements.
struct Numbers {
  bool has_nan;
  double max, min;
  int64_t max_integer, min_integer;
  double mean, norm;
};

struct Shown {
  DType dtype;
  bool is_scalar, has_sums;
};

// Max, Min, Mean, Norm, and two more.
constexpr int kCrcField = 4, kXorField = 5;  // behind Max, Min, Mean, Norm

void append_known(std::string& out, const Shown& shown, const Numbers& numbers, uint32_t crc32,
                  uint64_t xor64, int field);

// Whose mean and norm are told.
inline bool is_small_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace assay::library
