// SIMD passes over one tile of a pair of tensors. A tile is what stays in the first-level cache while several
// passes run.
//
// Every CPU gives the same bits: element i of a tile goes to lane i mod 8, the lanes are added in a fixed
// tree, and a multiply-add is fused everywhere (by std::fma where the CPU cannot). Tiles are added one after
// another by the caller. Preconditions of all passes: n <= kTile; no alignment is needed. Passes other than
// `measure` want finite elements only.
#pragma once

#include "assay/tensor/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::tile {

inline constexpr int64_t kTile = 2048;

struct Core {
  double aa = 0, bb = 0, ab = 0;  // Σa², Σb², Σab
  double dd = 0;                  // Σ(a-b)²
  double sum_a = 0, sum_b = 0;
  double diff = 0, abs_diff = 0;  // Σ(a-b), Σ|a-b|
  double max_abs = 0;             // max |a-b|
  double min_a = 0, max_a = 0, min_b = 0, max_b = 0;
  int64_t equal = 0;
};

struct Relative {            // r = |a-b| / |b|
  double max = 0, sum = 0;   // without b == 0
  double max_over_zero = 0;  // |a| / 2^-52 where b == 0
  int64_t under_1e3 = 0, under_5e3 = 0;
  int64_t counted = 0;      // b != 0
  int64_t zero_golden = 0;  // b == 0, a != 0
};

struct Ulp {
  uint64_t max = 0;
  double sum = 0;
};

// Core is always filled; the rest only where asked for.
struct Wanted {
  bool means = false;  // diff, abs_diff
  bool ulp = false;    // of the floats themselves
  bool relative = false;
  bool extremes = true;  // min_a … max_b and equal; false where patterns16 gives them
  // Where the next tile lies in memory, and bytes per element there: it is fetched while this one is
  // measured. May lie past the end of everything; nothing is read.
  const std::byte* ahead_a = nullptr;
  const std::byte* ahead_b = nullptr;
  int64_t step_a = 0, step_b = 0;
};

struct Measured {
  Core core;
  Ulp ulp;
  Relative relative;
  bool relative_done = false;  // false: some b is 0 or a difference overflowed f32; call relative() below
};

// If an element is not finite, core.aa or core.bb is not finite either, and nothing else in the answer means
// anything. Quotients of floats are formed in f32; all sums are f64.
Measured measure(const float* a, const float* b, int64_t n, Wanted wanted);
// d: the differences, where they are known more exactly than a - b (64-bit integers); else null. Fills core
// alone.
Core measure(const double* a, const double* b, const double* d, int64_t n);

// Relative errors with every special case. The f32 one requires that no |a - b| overflows f32.
Relative relative(const float* a, const float* b, int64_t n);
Relative relative(const double* a, const double* b, const double* d, int64_t n);

// Of the pairs whose |b| is below a limit. Products are not fused, and the lanes are added one after another.
struct Rest {
  double dd = 0, bb = 0;  // Σ(a-b)², Σb²
  int64_t count = 0;
};
Rest rest(const float* a, const float* b, int64_t n, double limit);
Rest rest(const double* a, const double* b, int64_t n, double limit);
// Two limits at once, the smaller one first.
std::array<Rest, 2> rest(const float* a, const float* b, int64_t n, const std::array<double, 2>& limits);
std::array<Rest, 2> rest(const double* a, const double* b, int64_t n, const std::array<double, 2>& limits);

// What the patterns of two f16 or two bf16 tiles tell without arithmetic. All elements must be finite.
struct Patterns16 {
  Ulp ulp;
  uint16_t min_a = 0, max_a = 0, min_b = 0, max_b = 0;  // patterns of the extremes
  int64_t equal = 0;
};
Patterns16 patterns16(const uint16_t* a, const uint16_t* b, int64_t n);  // n > 0

// Distance in units of the last place; bit patterns of f16 or bf16, of f32, of f64. +0 and -0 are the same
// place.
Ulp ulp_distance(const uint16_t* a, const uint16_t* b, int64_t n);
Ulp ulp_distance(const uint32_t* a, const uint32_t* b, int64_t n);
Ulp ulp_distance(const uint64_t* a, const uint64_t* b, int64_t n);
uint64_t ulp_distance_one(uint16_t a, uint16_t b);
uint64_t ulp_distance_one(uint32_t a, uint32_t b);
uint64_t ulp_distance_one(uint64_t a, uint64_t b);

// Round to nearest even.
void narrow_to_bf16(const float* from, int64_t n, uint16_t* to);
void narrow_to_f16(const float* from, int64_t n, uint16_t* to);

struct Softmax {
  double za = 0, zb = 0;  // Σ exp(a - peak_a), Σ exp(b - peak_b)
  double cross = 0;       // Σ exp(b - peak_b) · (b - a)
};
// The peaks are max; nothing lies beyond these.
struct Extremes {
  double min = 0, max = 0;
};
Softmax softmax(const float* a, const float* b, int64_t n, const Extremes& of_a, const Extremes& of_b);
Softmax softmax(const double* a, const double* b, int64_t n, const Extremes& of_a, const Extremes& of_b);
// Of one side, as softmax() has it; peak >= every x.
double exponentials(const float* x, int64_t n, double peak);
double exponentials(const double* x, int64_t n, double peak);
// exp(x) for x <= 0, the same bits as in the passes above; relative error below 1e-14.
double exp_nonpositive(double x);

// The name of the instruction set in use: "AVX3", "AVX2", "NEON", "EMU128".
const char* target_name();

}  // namespace assay::tile
