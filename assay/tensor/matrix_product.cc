#include "assay/tensor/matrix_product.h"

#include "assay/base/cancel.h"
#include "assay/base/checked.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

Result<std::vector<double>> values_of(const Operand& operand, int64_t limit) {
  const int64_t count = operand.meta.shape.count();
  if (count > limit / static_cast<int64_t>(sizeof(double)))
    return fail(ErrorKind::limit, "{} elements as f64 take more than the {} bytes of --memory", count, limit);
  ASSAY_TRY(const std::vector<std::byte> bytes, read_whole(operand, limit));
  std::vector<double> values(static_cast<size_t>(count));
  to_f64(operand.meta.dtype, bytes.data(), count, values.data());
  return values;
}

DType result_type(DType left, DType right) {
  const auto widened = [](DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; };
  left = widened(left);
  right = widened(right);
  if (!is_real(left) || !is_real(right)) return DType::f64;
  return size_of(left) >= size_of(right) ? left : right;
}

// Dimensions of stacks of matrices, those of one side repeated.
std::optional<std::vector<int64_t>> common_stack(const std::vector<int64_t>& a,
                                                 const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// Which matrix of a side stands at a place of the common stack.
int64_t matrix_at(int64_t place, const std::vector<int64_t>& common, const std::vector<int64_t>& own) {
  int64_t index = 0, stride = 1;
  for (size_t i = 0; i < common.size(); ++i) {
    const int64_t dim = common[common.size() - 1 - i], at = place % dim;
    place /= dim;
    if (i >= own.size()) continue;
    const int64_t own_dim = own[own.size() - 1 - i];
    if (own_dim != 1) index += at * stride;
    stride *= own_dim;
  }
  return index;
}

}  // namespace

OperandPtr squeezed(OperandPtr data) {
  Shape shape = data->meta.shape;
  std::erase(shape.dims, 1);
  return reshaped(std::move(data), std::move(shape));
}

Result<OperandPtr> matrix_product(const OperandPtr& left, const OperandPtr& right, int64_t limit) {
  std::vector<int64_t> a = left->meta.shape.dims, b = right->meta.shape.dims;
  const auto unfit = [&] {
    return fail(ErrorKind::mismatch, "shapes {} and {} cannot be multiplied", left->meta.shape.text(),
                right->meta.shape.text());
  };
  if (a.empty() || b.empty() || is_complex(left->meta.dtype) || is_complex(right->meta.dtype)) return unfit();
  const bool is_row = a.size() == 1, is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  const int64_t rows = a[a.size() - 2], inner = a.back(), columns = b.back();
  if (inner != b[b.size() - 2]) return unfit();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  const auto stack = common_stack(a, b);
  if (!stack) return unfit();
  Shape shape{*stack};
  if (!is_row) shape.dims.push_back(rows);
  if (!is_column) shape.dims.push_back(columns);
  const DType dtype = result_type(left->meta.dtype, right->meta.dtype);
  const auto count = checked_product(shape.dims);
  if (!count || *count > limit / static_cast<int64_t>(sizeof(double)))
    return fail(ErrorKind::limit, "the product of shapes {} and {} is too large", left->meta.shape.text(),
                right->meta.shape.text());
  ASSAY_TRY(const std::vector<double> x, values_of(*left, limit));
  ASSAY_TRY(const std::vector<double> y, values_of(*right, limit));
  std::vector<double> out(static_cast<size_t>(*count), 0.0);
  const int64_t matrices = Shape{*stack}.count();
  for (int64_t m = 0; m < matrices; ++m) {
    const double* const from_x = x.data() + matrix_at(m, *stack, a) * rows * inner;
    const double* const from_y = y.data() + matrix_at(m, *stack, b) * inner * columns;
    double* const to = out.data() + m * rows * columns;
    for (int64_t i = 0; i < rows; ++i) {
      ASSAY_TRY_DO(check_cancelled());
      for (int64_t k = 0; k < inner; ++k)
        for (int64_t j = 0; j < columns; ++j)
          to[i * columns + j] += from_x[i * inner + k] * from_y[k * columns + j];
    }
  }
  std::vector<std::byte> bytes(static_cast<size_t>(*count * size_of(dtype)));
  from_f64(dtype, out.data(), *count, bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, std::move(shape)});
}

}  // namespace assay
