// SIMD passes of the detail of a pair: errors entry by entry, and the bins that values fall into. Every CPU
// gives the same bits; see metric/tile_kernels.h.
#pragma once

#include <cstddef>
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
// limit: the largest |mine|; infinite: nothing can be stuck there. has_rare: some element may be one of the
// zeros or of the stuck; else they are not looked for.
RunErrors run_errors(const float* a, const float* b, int64_t n, double limit, bool has_rare,
                     const ErrorArrays& into);
RunErrors run_errors(const double* a, const double* b, const double* d, int64_t n, double limit,
                     const ErrorArrays& into);

// The same of several runs side by side, a piece of each at a time: element by element they are added to the
// same entries of the arrays, the first run first, so that an entry is fetched once for all of them.
struct ErrorLanes {
  alignas(64) double max[8] = {}, abs[8] = {}, squares[8] = {}, golden[8] = {}, zeros[8] = {},
                     zero_squares[8] = {}, stuck[8] = {}, stuck_squares[8] = {};
};
inline constexpr int64_t kMostRuns = 4;
inline constexpr int64_t kPieceOf = 16;  // pieces are multiples of it
// of_runs: of each run what its pieces gave so far. runs: 1, 2 or 4.
void add_pieces(int64_t runs, const float* const* a, const float* const* b, int64_t n, double limit,
                bool has_rare, const ErrorArrays& into, ErrorLanes* of_runs);
RunErrors total_of(const ErrorLanes& lanes);

// One axis for the values of both sides, in kValueBins bins. Linear: bin of (x - low) * per_unit.
// Logarithmic: 1 + |x| * per_unit, whose pattern as a float is the logarithm but for the bend within an
// octave; bins go out from zero on both sides, `per_pattern` for each step of the pattern.
inline constexpr int32_t kValueBins = 64;
struct ValueScale {
  bool is_logarithmic = false;
  double low = 0, per_unit = 0, per_pattern = 0;
};

// Of each pair of elements, in one number: in the lower half golden's bin * kValueBins + mine's, in the upper
// one the size of |a - b|: the bits of the float but for the last kSizeShift, two bins per power of two. Both
// times kCountTurns, for tables that have so many counts of a bin side by side: neighbours often fall into
// the same one, and do not wait for each other when they take turns.
inline constexpr int kSizeShift = 22, kUpperHalf = 16;
inline constexpr int32_t kSizeBins = 1 << (31 - kSizeShift);
inline constexpr int32_t kCountTurns = 8;

// Where the elements that come next lie in memory, and bytes per element there: they are fetched while these
// are looked at. May lie past the end of everything; nothing is read.
struct Ahead {
  const std::byte *a = nullptr, *b = nullptr;
  int64_t step_a = 0, step_b = 0;
};
// The answer: whether run_errors has something rare to look for. limit: as there.
bool value_cells(const float* a, const float* b, int64_t n, const ValueScale& scale, double limit,
                 const Ahead& ahead, uint32_t* cells);
void value_cells(const double* a, const double* b, const double* d, int64_t n, const ValueScale& scale,
                 uint32_t* cells);

}  // namespace assay::tile
