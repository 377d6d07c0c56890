// Products of matrices that lie in tensors, a tile at a time: what is held does not grow with the tensors.
#pragma once

#include "assay/golden/blas.h"
#include "assay/golden/golden.h"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

namespace assay {

// Row r starts at element first + r * stride of the tensor in row-major order.
struct MatrixView {
  OperandPtr data;
  int64_t first = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;

  Result<void> check() const { return check_within(data->meta.shape.count()); }
  // An error where it leaves so many elements.
  Result<void> check_within(int64_t count) const;
};

// The matrices of a tensor whose last two dimensions they are: the i-th of `count`. Precondition: at least
// two dimensions.
MatrixView matrix_of(const OperandPtr& data, int64_t i);

// Elements as numbers, in blocks. T: float where every value of the type fits, or double.
template <class T>
Result<void> read_numbers(const Operand& data, int64_t first, int64_t count, T* to, Scratch& scratch);

// As in_parallel; the first error of all is the answer.
Result<void> try_in_parallel(int64_t count, int64_t cost,
                             const std::function<Result<void>(int64_t first, int64_t last)>& work);

// ----- products

struct ProductTerm {
  MatrixView a, b;  // as they are stored, before they are transposed
};

enum class Accumulator : uint8_t {
  f32,    // for 16-bit factors
  f64,    // for all others
  whole,  // for int8: exact
};
Accumulator accumulator_of(DType a, DType b);

// A run of elements of one row of one product.
struct ProductRun {
  int64_t term = 0, row = 0, column = 0, count = 0;
  const double* sums = nullptr;
  // |row of a| |column of b|: no partial sum is larger.
  const double* norms = nullptr;
};

struct Product {
  std::vector<ProductTerm> terms;
  bool transpose_a = false, transpose_b = false;
  Accumulator accumulator = Accumulator::f64;
  // Where it is set and the accumulator is f32: changes elements [column, column + columns) of the stored
  // rows [row, row + rows) of b before they are multiplied.
  std::function<void(int64_t row, int64_t rows, int64_t column, int64_t columns, float* b)> adapt_b = {};

  int64_t rows(const ProductTerm& term) const { return transpose_a ? term.a.columns : term.a.rows; }
  int64_t columns(const ProductTerm& term) const { return transpose_b ? term.b.rows : term.b.columns; }
  int64_t length(const ProductTerm& term) const { return transpose_a ? term.a.rows : term.a.columns; }
  int64_t length_of_b(const ProductTerm& term) const { return transpose_b ? term.b.columns : term.b.rows; }
};

// Every element of every product goes to `take` once, from any thread. Errors: factors that do not fit each
// other or their tensors, more memory than allowed, and those of reading.
Result<void> compute_products(const Product& product, int64_t memory,
                              const std::function<void(const ProductRun&)>& take);

// How far a sum of `length` products may be off that was taken with an accumulator of unit roundoff `unit`,
// in any order: partial sums are at most `norm`, and their roundings add up as random steps do. Twice: ours
// has such roundings too.
inline double product_error(double unit, int64_t length, double norm) {
  return 2 * unit * (std::sqrt(static_cast<double>(length)) + 1) * norm;
}

// ----- what operators make of it

// Elements that were computed one by one, from any thread, each once.
class ComputedTensor {
 public:
  // 16-bit tensors keep their values in f32, whose rounding is allowed for. An error where both the values
  // and what is allowed do not fit into memory.
  static Result<ComputedTensor> make(DType dtype, Shape shape, int64_t memory);
  void set(int64_t i, double value, double allowed);
  void set(int64_t first, int64_t count, const double* values, const double* allowed);
  double value(int64_t i) const;
  double allowed(int64_t i) const;
  Expected take();  // once
  const Shape& shape() const { return shape_; }

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  bool is_narrow_ = false;
  std::shared_ptr<std::byte[]> values_;   // f32 where it is narrow, else f64
  std::shared_ptr<std::byte[]> allowed_;  // f32
};

}  // namespace assay
