#include "assay/golden/matrices.h"

#include "assay/base/checked.h"
#include "assay/golden/kernels.h"
#include "assay/golden/numbers.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>

namespace assay {
namespace {

constexpr int64_t kRowsAtOnce = 2048;  // of a that are held
// A tile is as high as it is wide: OpenBLAS packs both factors anew for each. Its size does not follow the
// threads, nor does the result.
constexpr int64_t kTile = 1024;
// Products of int8 are at most 2^14: sums of this many are exact in f32.
constexpr int64_t kExactLength = 1024;

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
      squares[static_cast<size_t>(i)] = kernel::sum_of_squares(row, columns);
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
    columns_at_once_ = std::clamp<int64_t>(affordable / blas_threads(), 1, kTile);
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
    a_ = a_part_.of(rows * k_);
    ASSAY_TRY_DO(load_a(row, rows));
    a_norms_ = matrix_norms(a_, product_.transpose_a ? k_ : rows, product_.transpose_a ? rows : k_,
                            product_.transpose_a);
    const int64_t across = (n_ + columns_at_once_ - 1) / columns_at_once_, down = (rows + kTile - 1) / kTile;
    return try_in_parallel(across * down, std::min(rows, kTile) * columns_at_once_ * std::max<int64_t>(1, k_),
                           [&](int64_t first, int64_t last) -> Result<void> {
                             for (int64_t tile = first; tile < last; ++tile) {
                               const int64_t within = tile / across * kTile,
                                             column = tile % across * columns_at_once_;
                               ASSAY_TRY_DO(run_tile({row, within, std::min(kTile, rows - within), rows},
                                                     column, std::min(columns_at_once_, n_ - column)));
                             }
                             return {};
                           });
  }

  Result<void> load_a(int64_t row, int64_t rows) {
    const int64_t stored = product_.transpose_a ? k_ : rows, width = product_.transpose_a ? rows : k_;
    return try_in_parallel(stored, width, [&](int64_t first, int64_t last) -> Result<void> {
      Scratch scratch;
      T* const to = a_ + first * width;
      return product_.transpose_a ? read_part(term_.a, first, last - first, row, width, to, scratch)
                                  : read_part(term_.a, row + first, last - first, 0, width, to, scratch);
    });
  }

  // Rows of a tile: `count` from `within` on of the `held` ones, the first of which is `first` of the matrix.
  struct TileRows {
    int64_t first = 0, within = 0, count = 0, held = 0;
  };

  Result<void> run_tile(const TileRows& rows, int64_t column, int64_t columns) {
    const int64_t stored = product_.transpose_b ? columns : k_, width = product_.transpose_b ? k_ : columns;
    const int64_t b_row = product_.transpose_b ? column : 0, b_column = product_.transpose_b ? 0 : column;
    Room& room = rooms_.local();
    T* const b = room.b.of(stored * width);
    Scratch scratch;
    ASSAY_TRY_DO(read_part(term_.b, b_row, stored, b_column, width, b, scratch));
    if constexpr (std::is_same_v<T, float>)
      if (product_.adapt_b) product_.adapt_b(b_row, stored, b_column, width, b);
    const std::vector<double> b_norms = matrix_norms(b, stored, width, !product_.transpose_b);

    T* const c = room.c.of(rows.count * columns);
    if (k_ == 0) std::fill_n(c, rows.count * columns, T{0});  // otherwise the product writes all of it
    std::vector<double> sums(
        static_cast<size_t>(product_.accumulator == Accumulator::whole ? rows.count * columns : 0));
    const int64_t step = product_.accumulator == Accumulator::whole ? kExactLength : std::max<int64_t>(1, k_);
    for (int64_t k = 0; k < k_; k += step) {
      Gemm<T> gemm{product_.transpose_a, product_.transpose_b, rows.count, columns, std::min(step, k_ - k)};
      gemm.a_stride = product_.transpose_a ? rows.held : k_;
      gemm.a = a_ + (product_.transpose_a ? k * gemm.a_stride + rows.within : rows.within * k_ + k);
      gemm.b_stride = width;
      gemm.b = b + k * (product_.transpose_b ? 1 : gemm.b_stride);
      gemm.c = c;
      gemm.c_stride = columns;
      multiply(gemm);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(c[i]);
    }

    std::vector<double> wide(static_cast<size_t>(columns)), norms(static_cast<size_t>(columns));
    for (int64_t i = 0; i < rows.count; ++i) {
      const double norm = a_norms_[static_cast<size_t>(rows.within + i)];
      const T* const row = c + i * columns;
      if (sums.empty())
        std::copy_n(row, columns, wide.data());
      else
        std::copy_n(sums.data() + i * columns, columns, wide.data());
      for (int64_t j = 0; j < columns; ++j)
        norms[static_cast<size_t>(j)] = norm * b_norms[static_cast<size_t>(j)];
      take_({number_, rows.first + rows.within + i, column, columns, wide.data(), norms.data()});
    }
    return {};
  }

  // Memory of a thread, for one tile after another.
  struct Part {
    std::shared_ptr<std::byte[]> bytes;
    int64_t count = 0;
    T* of(int64_t wanted) {
      if (count < wanted) bytes = fresh_bytes(wanted * static_cast<int64_t>(sizeof(T)));
      count = std::max(count, wanted);
      return reinterpret_cast<T*>(bytes.get());
    }
  };
  struct Room {
    Part b, c;
  };

  const Product& product_;
  const ProductTerm& term_;
  int64_t number_;
  const std::function<void(const ProductRun&)>& take_;
  int64_t m_, n_, k_;
  int64_t rows_at_once_ = 1, columns_at_once_ = 1;
  bool fits_ = true;
  Part a_part_;
  T* a_ = nullptr;
  std::vector<double> a_norms_;
  PerThread<Room> rooms_;
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
  ASSAY_TRY_DO(load_blas());
  int64_t cost = 1;
  for (const ProductTerm& term : product.terms) {
    ASSAY_TRY_DO(term.a.check());
    ASSAY_TRY_DO(term.b.check());
    if (product.length(term) != product.length_of_b(term))
      return fail(ErrorKind::mismatch, "rows of {} elements are multiplied by columns of {}",
                  product.length(term), product.length_of_b(term));
    if (std::max({term.a.columns, term.b.columns, term.a.rows, term.b.rows}) > kMostBlasRows)
      return fail(ErrorKind::unsupported, "a matrix with more than {} rows or columns", kMostBlasRows);
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
  out.values_ = fresh_bytes(count * of_value);
  out.allowed_ = fresh_bytes(count * static_cast<int64_t>(sizeof(float)));
  return out;
}

void ComputedTensor::set(int64_t i, double value, double allowed) {
  const auto at = static_cast<size_t>(i);
  if (is_narrow_) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(values_.get() + at * sizeof(narrow), &narrow, sizeof(narrow));
    allowed += std::abs(value) * unit_roundoff(DType::f32);
  } else {
    std::memcpy(values_.get() + at * sizeof(value), &value, sizeof(value));
  }
  // What is not finite has to be as it is. The factor makes up for rounding to f32.
  float kept = 0;
  if (std::isfinite(value))
    kept = std::isnan(allowed)
               ? kernel::kAnything
               : static_cast<float>(std::min(allowed * (1 + 1e-6), double{kernel::kAnything}));
  std::memcpy(allowed_.get() + at * sizeof(kept), &kept, sizeof(kept));
}

void ComputedTensor::set(int64_t first, int64_t count, const double* values, const double* allowed) {
  if (is_narrow_)
    kernel::keep_narrow(values, allowed, count, reinterpret_cast<float*>(values_.get()) + first,
                        reinterpret_cast<float*>(allowed_.get()) + first);
  else
    for (int64_t i = 0; i < count; ++i) set(first + i, values[i], allowed[i]);
}

double ComputedTensor::value(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  if (is_narrow_) {
    float narrow = 0;
    std::memcpy(&narrow, values_.get() + at * sizeof(narrow), sizeof(narrow));
    return static_cast<double>(narrow);
  }
  double wide = 0;
  std::memcpy(&wide, values_.get() + at * sizeof(wide), sizeof(wide));
  return wide;
}

double ComputedTensor::allowed(int64_t i) const {
  float kept = 0;
  std::memcpy(&kept, allowed_.get() + static_cast<size_t>(i) * sizeof(kept), sizeof(kept));
  return static_cast<double>(kept);
}

Expected ComputedTensor::take() {
  Expected out;
  out.dtype = dtype_;
  const std::span allowed(reinterpret_cast<const float*>(allowed_.get()),
                          static_cast<size_t>(shape_.count()));
  if (std::ranges::any_of(allowed, [](float each) { return each >= kernel::kAnything; })) {
    std::vector<std::byte> known(allowed.size());
    std::ranges::transform(allowed, known.begin(),
                           [](float each) { return std::byte{each < kernel::kAnything}; });
    out.known = dense_in_memory(std::move(known), TensorMeta{DType::u8, shape_});
    out.note = "rounding on the way leaves nothing of some elements that could be told";
  }
  out.value = held({is_narrow_ ? DType::f32 : DType::f64, shape_}, std::move(values_));
  out.allowed = held({DType::f32, shape_}, std::move(allowed_));
  return out;
}

}  // namespace assay
