// What is told of a tensor without keeping it: one pass over its bytes, in blocks that stay in the cache.
#pragma once

#include "assay/tensor/dtype.h"

#include <string>

namespace assay::capture {

struct Statistics {
  DType dtype = DType::f32;
  int64_t count = 0;  // elements
  int64_t nans = 0, infs = 0,
          zeros = 0;  // of a complex tensor: elements with such a component, zeros in both
  // As `std::max(so_far, x)` finds them, from the lowest number of the type on: a NaN is never the largest,
  // and of two zeros the first counts. Each in the word that holds the type exactly. All components of a
  // complex number, ordered by magnitude.
  struct Extreme {
    double real = 0, imaginary = 0;
    int64_t integer = 0;
    uint64_t natural = 0;
  };
  Extreme max, min;
  double sum = 0, sum_imaginary = 0, sum_squares = 0;  // in f64; NaN and infinities take part
  uint32_t crc32 = 0;                                  // of the bytes, where asked for
  uint64_t xor64 = 0;  // of little-endian words of 8 bytes, the last one filled up with zeros

  double mean() const;  // NaN of nothing
  double norm() const;
};

struct Wanted {
  bool values = true;  // all but the checksums
  bool crc32 = false;
  bool xor64 = false;
};

// `bytes`: dense, row-major, little-endian; types of fewer than 8 bits packed as files hold them. `count`
// elements of them.
Statistics measure(DType dtype, Bytes bytes, int64_t count, const Wanted& wanted);

// What it may use of the CPU, which is otherwise as much as there is: for tests.
enum class Instructions : uint8_t { plain, avx2, avx512 };
void use_at_most(Instructions most);

// The four numbers as the ATB tools print them: "%f" of reals, digits of integers, "(re,im)" of complex ones,
// "N/A" of types that they do not know.
struct AtbTexts {
  std::string max, min, mean, norm;
};
AtbTexts atb_texts(const Statistics& statistics);
// The same to all digits that tell the numbers apart, and of every type.
AtbTexts full_texts(const Statistics& statistics);

}  // namespace assay::capture
