#include "assay/run/compare/unpadded.h"

#include "assay/base/cancel.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

Result<void> check_zeros(const Operand& rest) {
  const int64_t total = rest.meta.shape.count();
  const DType dtype = rest.meta.dtype;
  Scratch scratch;
  std::vector<double> values;
  for (int64_t first = 0; first < total; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, rest.block(first, std::min(kBlockElements, total - first), scratch));
    values.resize(static_cast<size_t>(block.count * components(dtype)));
    to_f64(dtype, block.data, std::ssize(values), values.data());
    if (std::ranges::any_of(values, [](double value) { return value != 0; }))
      return fail(ErrorKind::mismatch, "what would be padding holds more than zeros");
  }
  return {};
}

}  // namespace

Result<OperandPtr> unpadded(const OperandPtr& whole, const Shape& inner) {
  const std::vector<int64_t>& dims = whole->meta.shape.dims;
  if (dims.size() != inner.dims.size())
    return fail(ErrorKind::mismatch, "shape {} is no padded {}", whole->meta.shape.text(), inner.text());
  OperandPtr left = whole;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < inner.dims[axis])
      return fail(ErrorKind::mismatch, "shape {} is no padded {}", whole->meta.shape.text(), inner.text());
    if (dims[axis] == inner.dims[axis]) continue;
    ASSAY_TRY(const OperandPtr rest, sliced(left, axis, inner.dims[axis], dims[axis] - inner.dims[axis]));
    ASSAY_TRY_DO(check_zeros(*rest));
    ASSAY_TRY(left, sliced(left, axis, 0, inner.dims[axis]));
  }
  return left;
}

}  // namespace assay
