// What the operators that multiply by weights share.
#pragma once

#include "assay/golden/matrices.h"
#include "assay/golden/numbers.h"

#include <optional>

namespace assay {

// The type that a number of ACL means where operators name the type of their output; nothing for -1.
Result<std::optional<DType>> dtype_of_acl(int64_t number, std::string_view param);

// A weight as rows and columns, whatever blocks it is stored in: four dimensions are FRACTAL_NZ, two are on
// the 310P. What had to be rearranged is in memory afterwards.
Result<OperandPtr> plain_weight(const GoldenCall& call, size_t i);

// Factors that multiply sums of int8: f32, or packed into the low half of an int64.
struct Scales {
  std::vector<double> values;
  // The cube reads the upper 19 bits of a packed scale: what the others are worth, of 1.
  std::vector<double> ignored;

  size_t size() const { return values.size(); }
};
Result<Scales> scales_of(const GoldenCall& call, size_t i);

// An element of a vector that is given once, per column, or per column of each of several products.
Result<void> check_per_column(size_t count, int64_t columns, int64_t terms, std::string_view what);
inline size_t per_column(size_t count, int64_t columns, int64_t term, int64_t column) {
  if (count == 1) return 0;
  return static_cast<size_t>(count == static_cast<size_t>(columns) ? column : term * columns + column);
}

// A number that was rounded to `dtype` on the way, and how far others may be off who round nothing, or
// something slightly different.
struct RoundedStep {
  double value = 0;
  double allowed = 0;
};
RoundedStep rounded_step(DType dtype, double exact, double error);

}  // namespace assay
