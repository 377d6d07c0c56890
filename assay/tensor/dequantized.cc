#include "assay/tensor/dequantized.h"

#include "assay/base/text.h"

namespace assay {
namespace {

class Dequantized final : public Operand {
 public:
  Dequantized(OperandPtr source, std::vector<double> scales, std::vector<double> offsets)
      : Operand(TensorMeta{DType::f32, source->meta.shape}),
        source_(std::move(source)),
        scales_(std::move(scales)),
        offsets_(std::move(offsets)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    ASSAY_TRY(const Block from, source_->block(first, count, scratch.below()));
    auto* const to = reinterpret_cast<float*>(scratch.buffer(count * size_of(DType::f32)));
    to_f32(from.dtype, from.data, count, to);
    const auto scales = static_cast<int64_t>(scales_.size()), offsets = static_cast<int64_t>(offsets_.size());
    int64_t s = first % scales, o = first % offsets;
    for (int64_t i = 0; i < count; ++i) {
      // Exact until the product is rounded once: an int8 less an offset has few bits.
      to[i] = static_cast<float>((double{to[i]} - offsets_[static_cast<size_t>(o)]) *
                                 scales_[static_cast<size_t>(s)]);
      if (++s == scales) s = 0;
      if (++o == offsets) o = 0;
    }
    return Block{DType::f32, reinterpret_cast<const std::byte*>(to), count};
  }

  void will_need(int64_t first, int64_t count) const override { source_->will_need(first, count); }

 private:
  const OperandPtr source_;
  const std::vector<double> scales_, offsets_;
};

// All of them; one, or one per channel.
Result<std::vector<double>> read_factors(const Operand& factors, int64_t channels, std::string_view what) {
  const int64_t count = factors.meta.shape.count();
  if (is_complex(factors.meta.dtype) || (count != 1 && count != channels))
    return fail(ErrorKind::mismatch,
                "the {} of {} {} does not fit {} channels; one, or one per channel, would", what,
                name(factors.meta.dtype), factors.meta.shape.text(), channels);
  ASSAY_TRY(const std::vector<std::byte> bytes, read_whole(factors, count * size_of(factors.meta.dtype)));
  std::vector<double> values(static_cast<size_t>(count));
  to_f64(factors.meta.dtype, bytes.data(), count, values.data());
  return values;
}

}  // namespace

Result<OperandPtr> dequantized(OperandPtr quantised, const OperandPtr& scale, const OperandPtr& offset) {
  const TensorMeta& meta = quantised->meta;
  if (is_complex(meta.dtype) || !fits_f32(meta.dtype))
    return fail(ErrorKind::mismatch, "{} is no quantised type; int8 is", name(meta.dtype));
  const int64_t channels = meta.shape.dims.empty() ? 1 : meta.shape.dims.back();
  ASSAY_TRY(std::vector<double> scales, read_factors(*scale, channels, "scale"));
  std::vector<double> offsets = {0};
  if (offset != nullptr) {
    ASSAY_TRY(offsets, read_factors(*offset, channels, "offset"));
  }
  if (scales.empty() || offsets.empty()) return quantised;  // no channels: no elements
  return std::make_shared<Dequantized>(std::move(quantised), std::move(scales), std::move(offsets));
}

}  // namespace assay
