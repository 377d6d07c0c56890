#include "assay/run/rope.h"

#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

// table[:, …, row, …, :] along `axis` of the two in the middle; a first dimension of 1 goes.
Result<OperandPtr> row_of_four(const OperandPtr& table, size_t axis, int64_t row) {
  const std::vector<int64_t>& dims = table->meta.shape.dims;
  const std::vector<int64_t> strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  Shape shape;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == axis || (i == 0 && dims[0] == 1)) continue;
    shape.dims.push_back(dims[i]);
    kept.push_back(strides[i]);
  }
  return strided(table, std::move(shape), kept, row * strides[axis]);
}

Result<bool> every_column_stands_twice(const Operand& row) {
  const int64_t columns = row.meta.shape.dims[1], width = size_of(row.meta.dtype);
  Scratch scratch;
  double pair[2];
  for (int64_t first = 0; first < columns; first += kBlockElements) {
    ASSAY_TRY(const Block block, row.block(first, std::min(kBlockElements, columns - first), scratch));
    for (int64_t i = 0; i + 1 < block.count; i += 2) {
      to_f64(row.meta.dtype, block.data + i * width, 2, pair);
      if (pair[0] != pair[1]) return false;
    }
  }
  return true;
}

}  // namespace

Result<OperandPtr> row_of_angles(OperandPtr table, int64_t length, Angles which) {
  const std::vector<int64_t>& dims = table->meta.shape.dims;
  if (length < 1 || table->meta.shape.count() == 0) return table;
  if (dims.size() == 4) {
    if (length < dims[2]) return row_of_four(table, 2, length - 1);
    if (length < dims[1]) return row_of_four(table, 1, length - 1);
  }
  const int64_t kind = which == Angles::cosines ? 0 : 1;
  if (dims.size() == 3 && length < dims[0] && kind < dims[2])
    return strided(table, Shape{{1, dims[1]}}, {dims[1] * dims[2], dims[2]},
                   (length - 1) * dims[1] * dims[2] + kind);
  return table;
}

Result<OperandPtr> without_repeated_columns(OperandPtr row) {
  const std::vector<int64_t>& dims = row->meta.shape.dims;
  if (dims.size() != 2 || dims[0] != 1 || dims[1] < 2 || dims[1] % 2 != 0 || is_complex(row->meta.dtype))
    return row;
  ASSAY_TRY(const bool twice, every_column_stands_twice(*row));
  if (!twice) return row;
  const int64_t columns = dims[1];
  return strided(std::move(row), Shape{{1, columns / 2}}, {columns, 2}, 0);
}

}  // namespace assay
