// SIMD passes of the detail of a pair: errors entry by entry, and the bins that values fall into. Every CPU
// gives the same bits; see metric/tile_kernels.h.
#pragma once

#include <cstdint>

namespace assay::tile {

// Of a run of elements; d = mine - golden.
struct RunErrors {
  double max = 0, abs = 0, squares = 0, golden = 0;  // max |d|, Σ|d|, Σd², Σgolden²
  // Elements that are 0 in mine and not in golden, and Σd² of them.
  double zeros = 0, zero_squares = 0;
  // Elements where mine stays at a limit that golden goes beyond, and Σd² of them.
  double stuck = 0, stuck_squares = 0;
};

// Arrays that take up errors element by element; null: only the run as a whole is asked for.
struct ErrorArrays {
  double *max = nullptr, *abs = nullptr, *squares = nullptr, *golden = nullptr;
};

// All elements are finite. d: the differences where they are known more exactly than a - b; else null.
// limit: the largest |mine|; infinite: nothing can be stuck there.
RunErrors run_errors(const float* a, const float* b, int64_t n, double limit, const ErrorArrays& into);
RunErrors run_errors(const double* a, const double* b, const double* d, int64_t n, double limit,
                     const ErrorArrays& into);

// One axis for the values of both sides, in kValueBins bins. Linear: bin of (x - low) * per_unit.
// Logarithmic: 1 + |x| * per_unit, whose pattern as a float is the logarithm but for the bend within an
// octave; bins go out from zero on both sides, `per_pattern` for each step of the pattern.
inline constexpr int32_t kValueBins = 64;
struct ValueScale {
  bool is_logarithmic = false;
  double low = 0, per_unit = 0, per_pattern = 0;
};

// cells: golden's bin * kValueBins + mine's. sizes: of |a - b|, the bits of the float but for the last
// kSizeShift: two bins per power of two.
inline constexpr int kSizeShift = 22;
inline constexpr int32_t kSizeBins = 1 << (31 - kSizeShift);
void value_cells(const float* a, const float* b, int64_t n, const ValueScale& scale, int32_t* cells,
                 int32_t* sizes);
void value_cells(const double* a, const double* b, const double* d, int64_t n, const ValueScale& scale,
                 int32_t* cells, int32_t* sizes);

}  // namespace assay::tile
