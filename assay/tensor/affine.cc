#include "assay/tensor/affine.h"

#include <algorithm>

namespace assay {
namespace {

// Small enough for the stack, large enough that the calls do not count.
constexpr int64_t kPiece = 1024;

class Affine : public Operand {
 public:
  Affine(TensorMeta result, OperandPtr source, OperandPtr offset, OperandPtr scale)
      : Operand(std::move(result)),
        source_(std::move(source)),
        offset_(std::move(offset)),
        scale_(std::move(scale)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    ASSAY_TRY(const Block source, source_->block(first, count, scratch.below(0)));
    ASSAY_TRY(const Block offset, offset_->block(first, count, scratch.below(1)));
    ASSAY_TRY(const Block scale, scale_->block(first, count, scratch.below(2)));
    const int64_t size = size_of(meta.dtype);
    std::byte* const out = scratch.buffer(count * size);
    double value[kPiece], other[kPiece];
    for (int64_t done = 0; done < count; done += kPiece) {
      const int64_t n = std::min(kPiece, count - done);
      widen(source, done, n, value);
      widen(offset, done, n, other);
      for (int64_t i = 0; i < n; ++i) value[i] -= other[i];
      from_f64(meta.dtype, value, n, out + done * size);
      to_f64(meta.dtype, out + done * size, n, value);
      widen(scale, done, n, other);
      for (int64_t i = 0; i < n; ++i) value[i] *= other[i];
      from_f64(meta.dtype, value, n, out + done * size);
    }
    return Block{meta.dtype, out, count};
  }

 private:
  static void widen(const Block& block, int64_t first, int64_t count, double* to) {
    to_f64(block.dtype, block.data + first * size_of(block.dtype), count, to);
  }

  const OperandPtr source_, offset_, scale_;
};

}  // namespace

Result<OperandPtr> affine(OperandPtr source, OperandPtr offset, OperandPtr scale) {
  for (const OperandPtr& each : {offset, scale})
    if (each->meta.shape != source->meta.shape)
      return fail(ErrorKind::mismatch, "a scale or offset of shape {} does not fit weights of shape {}",
                  each->meta.shape.text(), source->meta.shape.text());
  for (const OperandPtr& each : {source, offset, scale})
    if (is_complex(each->meta.dtype))
      return fail(ErrorKind::unsupported, "weights, scales and offsets of type {} cannot be made real",
                  name(each->meta.dtype));
  const DType a = offset->meta.dtype, b = scale->meta.dtype;
  // torch: f16 and bf16 together are f32; whole numbers follow the real one.
  DType type = !is_real(a) ? b : !is_real(b) ? a : size_of(a) > size_of(b) ? a : b;
  if (!is_real(type) || (is_real(a) && is_real(b) && a != b && size_of(a) == size_of(b))) type = DType::f32;
  TensorMeta meta{type, source->meta.shape};
  return OperandPtr(
      std::make_shared<Affine>(std::move(meta), std::move(source), std::move(offset), std::move(scale)));
}

}  // namespace assay
