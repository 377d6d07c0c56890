// What one further pass over a pair shows: pictures of the difference, and what is wrong in words where the
// numbers are plain. docs/page_data.md has its form as JSON.
#pragma once

#include "assay/tensor/operand.h"

#include <array>
#include <string>
#include <vector>

namespace assay {

// A dimension that is too long to be shown entry by entry: entry k stands for indices [k * step, (k+1) *
// step).
struct DetailAxis {
  int dimension = -1;  // of Detail::shape; -1: there is none (of a vector or a scalar), and one entry
  int64_t size = 1;
  int64_t step = 1;
  int64_t entries() const { return (size + step - 1) / step; }
};

// Errors of the elements of an entry; d = mine - golden where both are finite.
struct DetailErrors {
  std::vector<double> max_abs, mean_abs;  // of |d|; NaN where the entry has no finite pair
  std::vector<int64_t>
      nonfinite;  // pairs of which one side alone is NaN or infinite; empty: there are none at all
};

struct DetailProfile : DetailErrors {
  DetailAxis axis;
  std::vector<double> rel_l2;  // |d| / |golden| in the 2-norm; infinite where golden is 0 and d is not
};

struct DetailMap : DetailErrors {
  DetailAxis rows, columns;  // values are in row-major order
};

// Values of both sides around one element, row-major: `rows` x `columns` of them, from this corner on.
struct DetailWindow {
  int row_dimension = -1, column_dimension = -1;  // -1: there is none, and one row (or column)
  int64_t first_row = 0, first_column = 0, rows = 0, columns = 0;
  std::vector<double> mine, golden;
};

enum class DiagnosisKind : uint8_t {
  equal,               // of the elements: nothing differs
  scaled,              // mine = s x golden
  offset,              // mine = golden + c
  affine,              // mine = s x golden + c
  sign_flipped,        // mine = -golden
  shifted,             // mine[i] = golden[i - by] along a dimension
  transposed,          // the last two dimensions, read the other way round
  halves_swapped,      // of the last dimension (rotary embeddings)
  halves_interleaved,  // pairs of neighbours in one, halves in the other
  permuted,            // the entries of a dimension (heads) stand in another order
  region,              // only these indices of a dimension
  elements,            // only these few elements
  zeros,               // mine is zero where golden is not
  constant,            // mine has one value throughout
  saturated,           // mine stays at the largest number of a type
  rounded,             // mine is golden, rounded to a coarser type
  nonfinite,           // NaN or infinite on one side only
};
std::string_view text(DiagnosisKind kind);  // "sign flipped": the word that reports have

struct Diagnosis {
  DiagnosisKind kind;
  std::string text;  // "mine = 1.9998 x golden"
};

struct Detail {
  Shape shape;  // of both sides as they were compared
  DType mine = DType::f32, golden = DType::f32;
  // Complex elements count as two, here and in all that follows.
  int64_t count = 0, finite = 0, equal = 0, nonfinite_apart = 0;

  // Both sides over one axis: entry i of a histogram counts values in [edges[i], edges[i + 1]), the last one
  // its upper end too. Even steps, or (is_logarithmic) even steps of the logarithm on both sides of zero.
  bool is_logarithmic = false;
  std::vector<double> edges;
  std::vector<int64_t> mine_values, golden_values;
  // How often golden fell into one of these and mine into another: [golden * n + mine].
  std::vector<int64_t> scatter;
  int scatter_bins = 0;  // n; edges.size() - 1 is a multiple of it, and each takes as many together

  // |d| by its size: entry i counts those in [difference_edges[i], difference_edges[i + 1]).
  int64_t zero_differences = 0;
  std::vector<double> difference_edges;
  std::vector<int64_t> differences;

  DetailMap map;
  std::vector<DetailProfile> profiles;  // one per dimension longer than 1

  // The worst element: where NaN or infinities stand against something else, the first such place.
  std::vector<int64_t> worst;  // its coordinates; empty: nothing differs
  double worst_mine = 0, worst_golden = 0;
  DetailWindow window;  // around it

  // mine = s x golden, mine = golden + c, mine = s x golden + c, each the best in the sense of least squares,
  // and what is left of the difference then, as rel_l2. NaN: it is not defined.
  struct Fit {
    double scale, offset, rel_l2;
  };
  Fit as_it_is, by_scale, by_offset, by_both;

  std::string trouble = {};  // why there is nothing of all this; empty: there is

  std::vector<Diagnosis> diagnoses;  // the most telling first; empty: nothing is plain
  std::string sentence() const;      // "mine = 1.9998 x golden; only head 3"; empty without a diagnosis
};

}  // namespace assay
