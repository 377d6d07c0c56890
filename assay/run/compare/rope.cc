#include "assay/run/compare/rope.h"

#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

// table[:, …, row, …, :] along `axis` of the two in the middle; a first dimension of 1 goes.
Result<TakenAngles> row_of_four(const OperandPtr& table, size_t axis, int64_t row) {
  const std::vector<int64_t>& dims = table->meta.shape.dims;
  const std::vector<int64_t> strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  Shape shape;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == axis || (i == 0 && dims[0] == 1)) continue;
    shape.dims.push_back(dims[i]);
    kept.push_back(strides[i]);
  }
  ASSAY_TRY(OperandPtr taken, strided(table, std::move(shape), kept, row * strides[axis]));
  return TakenAngles{std::move(taken), {1, dims[axis]}};
}

// [positions, n], whatever dimensions of 1 the table has; nothing for what is no table.
Result<std::optional<OperandPtr>> as_matrix(const OperandPtr& table, Angles which) {
  const std::vector<int64_t>& dims = table->meta.shape.dims;
  if (dims.size() == 3 && dims[2] == 2) {
    const int64_t kind = which == Angles::cosines ? 0 : 1;
    ASSAY_TRY(OperandPtr view, strided(table, Shape{{dims[0], dims[1]}}, {dims[1] * dims[2], dims[2]}, kind));
    return std::optional(std::move(view));
  }
  if (dims.size() < 2) return std::optional<OperandPtr>();
  const int64_t width = dims.back();
  const int64_t positions = table->meta.shape.count() / width;
  const bool has_one_long_dimension =
      std::count_if(dims.begin(), dims.end() - 1, [](int64_t dim) { return dim != 1; }) <= 1;
  if (!has_one_long_dimension) return std::optional<OperandPtr>();
  return std::optional(reshaped(table, Shape{{positions, width}}));
}

struct Range {
  int64_t first, count;
};

// Nothing where the lengths do not explain so many rows.
std::vector<Range> ranges_at_hand(std::span<const int64_t> lengths, int64_t rows, int64_t positions) {
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    if (length < 1 || length > positions) return {};
    sum += length;
  }
  const auto sequences = std::ssize(lengths);
  if (sequences == 0 || (sum != rows && rows % sequences != 0)) return {};
  std::vector<Range> ranges;
  for (const int64_t length : lengths) {
    const int64_t count = sum == rows ? length : rows / sequences;
    if (count > length) return {};
    ranges.push_back({length - count, count});
  }
  return ranges;
}

// Sequences that begin alike share their first positions.
int64_t positions_in(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  int64_t count = 0, end = 0;
  for (const Range& range : ranges) {
    const int64_t last = range.first + range.count;
    count += std::max<int64_t>(0, last - std::max(end, range.first));
    end = std::max(end, last);
  }
  return count;
}

Result<bool> every_column_stands_twice(const Operand& row) {
  const int64_t elements = row.meta.shape.count(), width = size_of(row.meta.dtype);
  Scratch scratch;
  double pair[2];
  for (int64_t first = 0; first < elements; first += kBlockElements) {
    ASSAY_TRY(const Block block, row.block(first, std::min(kBlockElements, elements - first), scratch));
    for (int64_t i = 0; i + 1 < block.count; i += 2) {
      to_f64(row.meta.dtype, block.data + i * width, 2, pair);
      if (pair[0] != pair[1]) return false;
    }
  }
  return true;
}

}  // namespace

Result<TakenAngles> row_of_angles(OperandPtr table, int64_t length, Angles which) {
  const std::vector<int64_t>& dims = table->meta.shape.dims;
  if (length < 1 || table->meta.shape.count() == 0) return TakenAngles{std::move(table)};
  if (dims.size() == 4) {
    if (length < dims[2]) return row_of_four(table, 2, length - 1);
    if (length < dims[1]) return row_of_four(table, 1, length - 1);
  }
  const int64_t kind = which == Angles::cosines ? 0 : 1;
  if (dims.size() == 3 && length < dims[0] && kind < dims[2]) {
    ASSAY_TRY(OperandPtr row, strided(table, Shape{{1, dims[1]}}, {dims[1] * dims[2], dims[2]},
                                      (length - 1) * dims[1] * dims[2] + kind));
    return TakenAngles{std::move(row), {1, dims[0]}};
  }
  return TakenAngles{std::move(table)};
}

Result<TakenAngles> rows_of_angles(OperandPtr table, std::span<const int64_t> lengths, int64_t rows,
                                   Angles which) {
  constexpr size_t kMostSequences = 1024;  // each is a part of its own
  if (table->meta.shape.count() == 0 || lengths.size() > kMostSequences) return TakenAngles{std::move(table)};
  ASSAY_TRY(const auto matrix, as_matrix(table, which));
  if (!matrix) return TakenAngles{std::move(table)};
  const int64_t positions = (*matrix)->meta.shape.dims[0];
  const std::vector<Range> ranges = ranges_at_hand(lengths, rows, positions);
  std::vector<OperandPtr> parts;
  for (const Range& range : ranges) {
    ASSAY_TRY(OperandPtr part, sliced(*matrix, 0, range.first, range.count));
    parts.push_back(std::move(part));
  }
  if (parts.empty())  // of the positions at hand already
    return TakenAngles{positions == rows ? *matrix : std::move(table)};
  ASSAY_TRY(OperandPtr taken, parts.size() == 1 ? parts[0] : concatenated(std::move(parts), 0));
  return TakenAngles{std::move(taken), {positions_in(ranges), positions}};
}

Result<OperandPtr> without_repeated_columns(OperandPtr row) {
  const std::vector<int64_t>& dims = row->meta.shape.dims;
  if (dims.size() != 2 || dims[0] < 1 || dims[1] < 2 || dims[1] % 2 != 0 || is_complex(row->meta.dtype))
    return row;
  ASSAY_TRY(const bool twice, every_column_stands_twice(*row));
  if (!twice) return row;
  const int64_t rows = dims[0], columns = dims[1];
  return strided(std::move(row), Shape{{rows, columns / 2}}, {columns, 2}, 0);
}

}  // namespace assay
