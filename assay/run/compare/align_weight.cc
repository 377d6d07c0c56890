#include "assay/run/compare/align_weight.h"

#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

// `count` of the indices along `axis` from `first` on, of a matrix as it is or transposed.
Result<OperandPtr> part_of(const OperandPtr& matrix, bool transposed, size_t axis, int64_t first,
                           int64_t count) {
  Shape shape = matrix->meta.shape;
  std::vector<int64_t> strides(shape.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * shape.dims[i];
  if (transposed) {
    std::reverse(shape.dims.begin(), shape.dims.end());
    std::reverse(strides.begin(), strides.end());
  }
  if (!transposed && first == 0 && count == shape.dims[axis]) return matrix;
  shape.dims[axis] = count;
  return strided(matrix, std::move(shape), strides, first * strides[axis]);
}

}  // namespace

Result<std::optional<AlignedWeight>> align_weight(const std::vector<OperandPtr>& whole,
                                                  std::string_view whole_name, const Spread& spread,
                                                  const SharedWeight& how) {
  std::vector<Shape> shapes;
  for (const OperandPtr& matrix : whole) shapes.push_back(matrix->meta.shape);
  const auto ranks = static_cast<int64_t>(spread.ranks);
  const auto fit = fit_share(shapes, spread.own->meta.shape, ranks, how);
  if (!fit) return std::optional<AlignedWeight>();
  AlignedWeight done{nullptr, spread.own, {}};
  const bool reorders = fit->is_cut && whole.size() > 1;
  std::vector<OperandPtr> parts;
  for (int64_t rank = 0; rank < (reorders ? ranks : 1); ++rank)
    for (size_t i = 0; i < whole.size(); ++i) {
      const std::vector<int64_t>& dims = shapes[i].dims;
      const int64_t extent = dims[fit->transposed ? dims.size() - 1 - fit->axis : fit->axis];
      const int64_t count = reorders ? extent / ranks : extent;
      ASSAY_TRY(OperandPtr part, part_of(whole[i], fit->transposed, fit->axis, rank * count, count));
      parts.push_back(std::move(part));
    }
  ASSAY_TRY(done.whole,
            parts.size() == 1 ? parts[0] : concatenated(std::move(parts), static_cast<int64_t>(fit->axis)));
  if (fit->transposed) done.note = fmt::format("{} transposed", whole_name);
  if (fit->is_cut) {
    ASSAY_TRY(done.spread, join_shards(spread, fit->axis, spread.own->meta.shape));
    done.note += fmt::format("{}{} joined from {} ranks along dimension {}", done.note.empty() ? "" : "; ",
                             whole_name == "golden" ? "mine" : "golden", spread.ranks, fit->axis);
  }
  return std::optional(std::move(done));
}

Result<std::optional<std::vector<OperandPtr>>> cut_weight(const OperandPtr& whole, const SharedWeight& how) {
  using Matrices = std::vector<OperandPtr>;
  const auto shapes = cut_shapes(whole->meta.shape, how);
  if (!shapes) return std::optional<Matrices>();
  Matrices matrices;
  int64_t first = 0;
  const size_t axis =
      whole->meta.shape.dims.empty() ? 0 : std::min(how.out_dimension, whole->meta.shape.dims.size() - 1);
  for (const Shape& shape : *shapes) {
    if (shapes->size() == 1) return std::optional(Matrices{whole});
    ASSAY_TRY(OperandPtr matrix, part_of(whole, false, axis, first, shape.dims[axis]));
    matrices.push_back(std::move(matrix));
    first += shape.dims[axis];
  }
  return std::optional(std::move(matrices));
}

}  // namespace assay
