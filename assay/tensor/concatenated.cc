#include "assay/base/checked.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// The result is a sequence of rows; a row is one chunk of every part in turn. The elements of one part that
// fall into a range of the result lie together in that part, so each part is asked once per block however
// short its chunks are.
class Concatenated final : public Operand {
 public:
  struct Part {
    OperandPtr operand;
    int64_t chunk = 0;  // elements per row
    int64_t start = 0;  // of the chunk in the row
  };

  Concatenated(TensorMeta m, std::vector<Part> parts, int64_t row)
      : Operand(std::move(m)), parts_(std::move(parts)), row_(row), one_row_(row == meta.shape.count()) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    if (count == 0) return Block{meta.dtype, nullptr, 0};
    const int64_t column = first % row_;
    const size_t i = part_at(column);
    const Part& part = parts_[i];
    if (column + count <= part.start + part.chunk)
      return part.operand->block(before(part, first), count, scratch_of(i, scratch));

    const int64_t size = size_of(meta.dtype);
    std::byte* const out = scratch.buffer(count * size);
    // Only the parts that the range meets: from the one it starts in, once around at most.
    for (size_t step = 0; step < parts_.size(); ++step) {
      const size_t at = (i + step) % parts_.size();
      if (one_row_ && (at < i || parts_[at].start >= first + count)) break;
      ASSAY_TRY_DO(copy_part(at, first, count, out, scratch));
    }
    return Block{meta.dtype, out, count};
  }

  void will_need(int64_t first, int64_t count) const override {
    for (const Part& part : parts_) {
      const int64_t begin = before(part, first), end = before(part, first + count);
      if (begin < end) part.operand->will_need(begin, end - begin);
    }
  }

 private:
  // Which part a block came from last, where all share one scratch.
  struct Current : ReaderState {
    size_t part = 0;
  };

  // Along the first dimension the parts follow one another, so that one scratch serves them all and the
  // memory of a reader does not grow with their number.
  Scratch& scratch_of(size_t part, Scratch& scratch) const {
    if (!one_row_) return scratch.below(part);
    if (!scratch.state) scratch.state = std::make_unique<Current>();
    Current& current = static_cast<Current&>(*scratch.state);
    if (current.part != part) scratch.below().forget();
    current.part = part;
    return scratch.below();
  }

  size_t part_at(int64_t column) const {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), column,
                                        [](int64_t c, const Part& part) { return c < part.start; });
    return static_cast<size_t>(after - parts_.begin()) - 1;
  }

  // Elements of a part that come before element `at` of the result.
  int64_t before(const Part& part, int64_t at) const {
    return at / row_ * part.chunk + std::clamp<int64_t>(at % row_ - part.start, 0, part.chunk);
  }

  Result<void> copy_part(size_t i, int64_t first, int64_t count, std::byte* out, Scratch& scratch) const {
    const Part& part = parts_[i];
    const int64_t size = size_of(meta.dtype);
    const int64_t begin = before(part, first), end = before(part, first + count);
    if (begin == end) return {};
    ASSAY_TRY(const Block piece, part.operand->block(begin, end - begin, scratch_of(i, scratch)));
    const std::byte* from = piece.data;
    int64_t row = begin / part.chunk, column = begin % part.chunk;
    for (int64_t at = begin; at < end; ++row, column = 0) {
      const int64_t run = std::min(part.chunk - column, end - at);
      std::memcpy(out + (row * row_ + part.start + column - first) * size, from,
                  static_cast<size_t>(run * size));
      from += run * size;
      at += run;
    }
    return {};
  }

  std::vector<Part> parts_;  // none of them empty
  int64_t row_;              // elements
  bool one_row_;
};

}  // namespace

Result<OperandPtr> concatenated(std::vector<OperandPtr> parts, int64_t axis) {
  if (parts.empty()) return fail(ErrorKind::bad_argument, "nothing to join");
  TensorMeta meta = parts.front()->meta;
  if (axis < 0 || axis >= std::ssize(meta.shape.dims))
    return fail(ErrorKind::mismatch, "cannot join tensors of shape {} along dimension {}", meta.shape.text(),
                axis);
  const auto place = static_cast<size_t>(axis);
  if (parts.size() == 1) return std::move(parts.front());

  int64_t inner = 1;
  for (size_t i = place + 1; i < meta.shape.dims.size(); ++i) inner *= meta.shape.dims[i];
  std::vector<Concatenated::Part> joined;
  int64_t row = 0;
  std::optional<int64_t> extent = 0;
  for (OperandPtr& part : parts) {
    Shape other = part->meta.shape;
    if (part->meta.dtype != meta.dtype)
      return fail(ErrorKind::mismatch, "cannot join {} and {}", name(meta.dtype), name(part->meta.dtype));
    const bool same_rank = other.dims.size() == meta.shape.dims.size();
    if (same_rank) other.dims[place] = meta.shape.dims[place];
    if (!same_rank || other != meta.shape)
      return fail(ErrorKind::mismatch, "cannot join shapes {} and {} along dimension {}", meta.shape.text(),
                  part->meta.shape.text(), axis);
    extent = checked_add(*extent, part->meta.shape.dims[place]);
    if (!extent) return fail(ErrorKind::bad_format, "the joined dimension is too large");
    const int64_t chunk = part->meta.shape.dims[place] * inner;
    if (part->meta.shape.count() == 0) continue;
    joined.push_back({std::move(part), chunk, row});
    row += chunk;
  }
  meta.shape.dims[place] = *extent;
  const auto total = checked_product(meta.shape.dims);
  if (!total || !checked_multiply(*total, size_of(meta.dtype)))
    return fail(ErrorKind::bad_format, "the joined shape {} is not possible", meta.shape.text());
  return std::make_shared<Concatenated>(std::move(meta), std::move(joined), row);
}

}  // namespace assay
