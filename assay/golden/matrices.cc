#include "assay/golden/matrices.h"

#include "assay/base/checked.h"
#include "assay/golden/numbers.h"
#include "assay/support/parallel.h"
#include "assay/tensor/dense.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>

namespace assay {
namespace {

constexpr int64_t kRowsAtOnce = 2048;
// A tile of b that is stored by columns of the product is read row by row: short runs cost a call each.
constexpr int64_t kColumnsAtOnce = 256, kColumnsOfRows = 1024, kLeastColumns = 16;
// Products of int8 are at most 2^14: sums of this many are exact in f32.
constexpr int64_t kExactLength = 1024;

// oneTBB is the only threading: OpenBLAS must not start threads of its own under it.
void keep_blas_single() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

int64_t blas_threads() { return static_cast<int64_t>(threads_at_work()); }

template <class T>
Result<void> read_part(const MatrixView& matrix, int64_t row, int64_t rows, int64_t column, int64_t columns,
                       T* to, Scratch& scratch) {
  const int64_t first = matrix.first + row * matrix.stride + column;
  if (columns == matrix.stride) return read_numbers(*matrix.data, first, rows * columns, to, scratch);
  for (int64_t i = 0; i < rows; ++i)
    ASSAY_TRY_DO(read_numbers(*matrix.data, first + i * matrix.stride, columns, to + i * columns, scratch));
  return {};
}

// Of the rows, or of the columns, of a row-major matrix.
template <class T>
std::vector<double> matrix_norms(const T* matrix, int64_t rows, int64_t columns, bool of_columns) {
  std::vector<double> squares(static_cast<size_t>(of_columns ? columns : rows), 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    const T* const row = matrix + i * columns;
    if (of_columns) {
      for (int64_t j = 0; j < columns; ++j)
        squares[static_cast<size_t>(j)] += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    } else {
      double lanes[8] = {};
      for (int64_t j = 0; j < columns; ++j)
        lanes[j % 8] += static_cast<double>(row[j]) * static_cast<double>(row[j]);
      for (const double lane : lanes) squares[static_cast<size_t>(i)] += lane;
    }
  }
  for (double& each : squares) each = std::sqrt(each);
  return squares;
}

template <class T>
class TermRunner {
 public:
  TermRunner(const Product& product, int64_t number, int64_t memory,
             const std::function<void(const ProductRun&)>& take)
      : product_(product),
        term_(product.terms[static_cast<size_t>(number)]),
        number_(number),
        take_(take),
        m_(product.rows(term_)),
        n_(product.columns(term_)),
        k_(product.length(term_)) {
    const int64_t affordable = memory / 4 / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, k_);
    rows_at_once_ = std::clamp<int64_t>(affordable, 1, kRowsAtOnce);
    const int64_t widest = product.transpose_b ? kColumnsAtOnce : kColumnsOfRows;
    columns_at_once_ = std::clamp<int64_t>(n_ / (4 * blas_threads()), kLeastColumns, widest);
    columns_at_once_ = std::clamp<int64_t>(affordable / blas_threads(), 1, columns_at_once_);
    fits_ = affordable > 0;
  }

  Result<void> run() {
    if (m_ == 0 || n_ == 0) return {};
    if (!fits_) return fail(ErrorKind::limit, "rows of {} elements need more memory than is allowed", k_);
    for (int64_t row = 0; row < m_; row += rows_at_once_)
      ASSAY_TRY_DO(run_rows(row, std::min(rows_at_once_, m_ - row)));
    return {};
  }

 private:
  Result<void> run_rows(int64_t row, int64_t rows) {
    a_.resize(static_cast<size_t>(rows * k_));
    ASSAY_TRY_DO(load_a(row, rows));
    a_norms_ = matrix_norms(a_.data(), product_.transpose_a ? k_ : rows, product_.transpose_a ? rows : k_,
                            product_.transpose_a);
    const int64_t tiles = (n_ + columns_at_once_ - 1) / columns_at_once_;
    return try_in_parallel(
        tiles, rows * columns_at_once_ * std::max<int64_t>(1, k_),
        [&](int64_t first, int64_t last) -> Result<void> {
          for (int64_t tile = first; tile < last; ++tile) {
            const int64_t column = tile * columns_at_once_;
            ASSAY_TRY_DO(run_tile(row, rows, column, std::min(columns_at_once_, n_ - column)));
          }
          return {};
        });
  }

  Result<void> load_a(int64_t row, int64_t rows) {
    const int64_t stored = product_.transpose_a ? k_ : rows, width = product_.transpose_a ? rows : k_;
    return try_in_parallel(stored, width, [&](int64_t first, int64_t last) -> Result<void> {
      Scratch scratch;
      T* const to = a_.data() + first * width;
      return product_.transpose_a ? read_part(term_.a, first, last - first, row, width, to, scratch)
                                  : read_part(term_.a, row + first, last - first, 0, width, to, scratch);
    });
  }

  Result<void> run_tile(int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t stored = product_.transpose_b ? columns : k_, width = product_.transpose_b ? k_ : columns;
    const int64_t b_row = product_.transpose_b ? column : 0, b_column = product_.transpose_b ? 0 : column;
    std::vector<T> b(static_cast<size_t>(stored * width));
    Scratch scratch;
    ASSAY_TRY_DO(read_part(term_.b, b_row, stored, b_column, width, b.data(), scratch));
    if constexpr (std::is_same_v<T, float>)
      if (product_.adapt_b) product_.adapt_b(b_row, stored, b_column, width, b.data());
    const std::vector<double> b_norms = matrix_norms(b.data(), stored, width, !product_.transpose_b);

    std::vector<T> c(static_cast<size_t>(rows * columns));
    std::vector<double> sums(
        static_cast<size_t>(product_.accumulator == Accumulator::whole ? rows * columns : 0));
    const int64_t step = product_.accumulator == Accumulator::whole ? kExactLength : std::max<int64_t>(1, k_);
    for (int64_t k = 0; k < k_; k += step) {
      Gemm<T> gemm{product_.transpose_a, product_.transpose_b, rows, columns, std::min(step, k_ - k)};
      gemm.a_stride = product_.transpose_a ? rows : k_;
      gemm.a = a_.data() + k * (product_.transpose_a ? gemm.a_stride : 1);
      gemm.b_stride = width;
      gemm.b = b.data() + k * (product_.transpose_b ? 1 : gemm.b_stride);
      gemm.c = c.data();
      gemm.c_stride = columns;
      multiply(gemm);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(c[i]);
    }

    std::vector<double> wide(static_cast<size_t>(columns)), norms(static_cast<size_t>(columns));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<size_t>(i * columns + j), to = static_cast<size_t>(j);
        wide[to] = sums.empty() ? static_cast<double>(c[at]) : sums[at];
        norms[to] = a_norms_[static_cast<size_t>(i)] * b_norms[to];
      }
      take_({number_, row + i, column, columns, wide.data(), norms.data()});
    }
    return {};
  }

  const Product& product_;
  const ProductTerm& term_;
  int64_t number_;
  const std::function<void(const ProductRun&)>& take_;
  int64_t m_, n_, k_;
  int64_t rows_at_once_ = 1, columns_at_once_ = 1;
  bool fits_ = true;
  std::vector<T> a_;
  std::vector<double> a_norms_;
};

template <class T>
void widen_block(const Block& block, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (fits_f32(block.dtype)) {
      to_f32(block.dtype, block.data, block.count, to);
      return;
    }
    std::vector<double> wide(static_cast<size_t>(block.count));
    to_f64(block.dtype, block.data, block.count, wide.data());
    std::ranges::transform(wide, to, [](double each) { return static_cast<float>(each); });
  } else {
    to_f64(block.dtype, block.data, block.count, to);
  }
}

}  // namespace

Result<void> MatrixView::check_within(int64_t count) const {
  if (rows < 0 || columns < 0 || first < 0 || stride < 0)
    return fail(ErrorKind::mismatch, "a matrix has a negative extent");
  if (rows == 0 || columns == 0) return {};
  const auto last_row = checked_multiply(rows - 1, stride);
  const auto end = last_row ? checked_add(*last_row, columns) : std::nullopt;
  const auto place = end ? checked_add(*end, first) : std::nullopt;
  if (!place || *place > count)
    return fail(ErrorKind::mismatch, "a matrix of {} x {} reaches beyond the {} elements of its tensor", rows,
                columns, count);
  return {};
}

MatrixView matrix_of(const OperandPtr& data, int64_t i) {
  const std::vector<int64_t>& dims = data->meta.shape.dims;
  const int64_t rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  return {data, i * rows * columns, rows, columns, columns};
}

template <class T>
Result<void> read_numbers(const Operand& data, int64_t first, int64_t count, T* to, Scratch& scratch) {
  for (int64_t done = 0; done < count; done += kBlockElements) {
    ASSAY_TRY(const Block block, data.block(first + done, std::min(kBlockElements, count - done), scratch));
    widen_block(block, to + done);
  }
  return {};
}
template Result<void> read_numbers(const Operand&, int64_t, int64_t, float*, Scratch&);
template Result<void> read_numbers(const Operand&, int64_t, int64_t, double*, Scratch&);

void multiply(const Gemm<float>& g) {
  keep_blas_single();
  cblas_sgemm(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans,
              g.transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(g.m), static_cast<blasint>(g.n),
              static_cast<blasint>(g.k), 1, g.a, static_cast<blasint>(g.a_stride), g.b,
              static_cast<blasint>(g.b_stride), 0, g.c, static_cast<blasint>(g.c_stride));
}

void multiply(const Gemm<double>& g) {
  keep_blas_single();
  cblas_dgemm(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans,
              g.transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(g.m), static_cast<blasint>(g.n),
              static_cast<blasint>(g.k), 1, g.a, static_cast<blasint>(g.a_stride), g.b,
              static_cast<blasint>(g.b_stride), 0, g.c, static_cast<blasint>(g.c_stride));
}

Result<void> try_in_parallel(int64_t count, int64_t cost,
                             const std::function<Result<void>(int64_t, int64_t)>& work) {
  std::mutex mutex;
  Result<void> outcome;
  std::atomic<bool> failed = false;
  in_parallel(count, cost, [&](int64_t first, int64_t last) {
    if (failed) return;
    Result<void> done = work(first, last);
    if (done) return;
    const std::lock_guard lock(mutex);
    if (!failed) outcome = std::move(done);
    failed = true;
  });
  return outcome;
}

Accumulator accumulator_of(DType a, DType b) {
  const auto is_short = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
  if (a == DType::i8 && b == DType::i8) return Accumulator::whole;
  return is_short(a) && is_short(b) ? Accumulator::f32 : Accumulator::f64;
}

Result<void> compute_products(const Product& product, int64_t memory,
                              const std::function<void(const ProductRun&)>& take) {
  constexpr int64_t kMostColumns = std::numeric_limits<blasint>::max();
  int64_t cost = 1;
  for (const ProductTerm& term : product.terms) {
    ASSAY_TRY_DO(term.a.check());
    ASSAY_TRY_DO(term.b.check());
    if (product.length(term) != product.length_of_b(term))
      return fail(ErrorKind::mismatch, "rows of {} elements are multiplied by columns of {}",
                  product.length(term), product.length_of_b(term));
    if (std::max({term.a.columns, term.b.columns, term.a.rows, term.b.rows}) > kMostColumns)
      return fail(ErrorKind::unsupported, "a matrix with more than {} rows or columns", kMostColumns);
    const auto once = checked_multiply(std::max<int64_t>(1, product.rows(term)),
                                       std::max<int64_t>(1, product.columns(term)));
    const auto all =
        once ? checked_multiply(*once, std::max<int64_t>(1, product.length(term))) : std::nullopt;
    cost = std::max(cost, all.value_or(std::numeric_limits<int64_t>::max()));
  }
  // Several at a time share the memory.
  const int64_t terms = std::ssize(product.terms);
  const int64_t at_once = std::clamp<int64_t>(terms, 1, blas_threads());
  return try_in_parallel(terms, cost, [&](int64_t first, int64_t last) -> Result<void> {
    for (int64_t i = first; i < last; ++i) {
      if (product.accumulator == Accumulator::f64) {
        ASSAY_TRY_DO(TermRunner<double>(product, i, memory / at_once, take).run());
      } else {
        ASSAY_TRY_DO(TermRunner<float>(product, i, memory / at_once, take).run());
      }
    }
    return {};
  });
}

Result<ComputedTensor> ComputedTensor::make(DType dtype, Shape shape, int64_t memory) {
  ASSAY_TRY(const int64_t count, count_of(shape));
  ComputedTensor out;
  out.is_narrow_ = dtype == DType::f16 || dtype == DType::bf16;
  const auto of_value = static_cast<int64_t>(out.is_narrow_ ? sizeof(float) : sizeof(double));
  const auto bytes = checked_multiply(count, of_value + static_cast<int64_t>(sizeof(float)));
  if (!bytes || *bytes > memory)
    return fail(ErrorKind::limit, "an output of shape {} needs more than the {} MiB that --memory allows",
                shape.text(), memory >> 20);
  out.dtype_ = dtype;
  out.shape_ = std::move(shape);
  out.values_.resize(static_cast<size_t>(count * of_value));
  out.allowed_.resize(static_cast<size_t>(count) * sizeof(float));
  return out;
}

void ComputedTensor::set(int64_t i, double value, double allowed) {
  const auto at = static_cast<size_t>(i);
  if (is_narrow_) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(values_.data() + at * sizeof(narrow), &narrow, sizeof(narrow));
    allowed += std::abs(value) * unit_roundoff(DType::f32);
  } else {
    std::memcpy(values_.data() + at * sizeof(value), &value, sizeof(value));
  }
  // What is not finite has to be as it is. The factor makes up for rounding to f32.
  float kept = 0;
  if (std::isfinite(value))
    kept = std::isnan(allowed) ? 3e38f : static_cast<float>(std::min(allowed * (1 + 1e-6), 3e38));
  std::memcpy(allowed_.data() + at * sizeof(kept), &kept, sizeof(kept));
}

double ComputedTensor::value(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  if (is_narrow_) {
    float narrow = 0;
    std::memcpy(&narrow, values_.data() + at * sizeof(narrow), sizeof(narrow));
    return static_cast<double>(narrow);
  }
  double wide = 0;
  std::memcpy(&wide, values_.data() + at * sizeof(wide), sizeof(wide));
  return wide;
}

double ComputedTensor::allowed(int64_t i) const {
  float kept = 0;
  std::memcpy(&kept, allowed_.data() + static_cast<size_t>(i) * sizeof(kept), sizeof(kept));
  return static_cast<double>(kept);
}

Expected ComputedTensor::take() {
  Expected out;
  out.dtype = dtype_;
  out.value = dense_in_memory(std::move(values_), {is_narrow_ ? DType::f32 : DType::f64, shape_});
  out.allowed = dense_in_memory(std::move(allowed_), {DType::f32, shape_});
  return out;
}

}  // namespace assay
