#include "assay/tensor/cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Small enough for the stack, large enough that the calls do not count.
constexpr int64_t kPiece = 1024;

// A 64-bit integer as f64 with its last bit set where digits were lost ("round to odd"): rounding it once
// more to any type of at most 51 mantissa bits gives what rounding the integer itself would have given.
double sticky(uint64_t magnitude) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  const uint64_t lost = magnitude & ((uint64_t{1} << shift) - 1);
  return std::ldexp(static_cast<double>((magnitude >> shift) | (lost != 0 ? 1 : 0)), shift);
}

uint64_t load_word(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void widen(DType from_type, DType to_type, const std::byte* from, int64_t count, double* to) {
  const bool rounds_again = to_type != DType::f64;
  if (from_type == DType::u64 && rounds_again) {
    for (int64_t i = 0; i < count; ++i) to[i] = sticky(load_word(from + 8 * i));
  } else if (from_type == DType::i64 && rounds_again) {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t word = load_word(from + 8 * i);
      const bool negative = word >> 63 != 0;
      to[i] = negative ? -sticky(uint64_t{0} - word) : sticky(word);
    }
  } else {
    to_f64(from_type, from, count, to);
  }
}

// i64 to u64 and back: f64 would lose digits. What does not fit saturates.
void between_words(DType to_type, const std::byte* from, int64_t count, std::byte* to) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word = load_word(from + 8 * i);
    if (word > kMax) word = to_type == DType::u64 ? 0 : kMax;
    std::memcpy(to + 8 * i, &word, sizeof word);
  }
}

void convert(DType from_type, DType to_type, const std::byte* from, int64_t count, std::byte* to) {
  const bool words = (from_type == DType::i64 && to_type == DType::u64) ||
                     (from_type == DType::u64 && to_type == DType::i64);
  if (words) return between_words(to_type, from, count, to);
  const int64_t from_size = size_of(from_type);
  const int64_t to_size = size_of(to_type);
  double wide[kPiece];
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t part = std::min(kPiece, count - done);
    widen(from_type, to_type, from + done * from_size, part, wide);
    from_f64(to_type, wide, part, to + done * to_size);
  }
}

class Cast final : public Operand {
 public:
  Cast(OperandPtr source, DType to)
      : Operand(TensorMeta{to, source->meta.shape}), source_(std::move(source)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    ASSAY_TRY(const Block in, source_->block(first, count, scratch.below()));
    std::byte* const out = scratch.buffer(count * size_of(meta.dtype));
    const DType from = component(in.dtype);
    const DType to = component(meta.dtype);
    if (is_complex(meta.dtype) && !is_complex(in.dtype)) {
      add_imaginary_zeros(in, out, count);
    } else if (to == DType::f32 && fits_f32(from)) {
      to_f32(from, in.data, count * components(in.dtype), reinterpret_cast<float*>(out));
    } else {
      convert(from, to, in.data, count * components(in.dtype), out);
    }
    return Block{meta.dtype, out, count};
  }

  void will_need(int64_t first, int64_t count) const override { source_->will_need(first, count); }

 private:
  void add_imaginary_zeros(const Block& in, std::byte* out, int64_t count) const {
    const DType to = component(meta.dtype);
    const int64_t size = size_of(to);
    std::byte real_parts[kPiece * sizeof(double)];
    for (int64_t done = 0; done < count; done += kPiece) {
      const int64_t part = std::min(kPiece, count - done);
      convert(in.dtype, to, in.data + done * size_of(in.dtype), part, real_parts);
      for (int64_t i = 0; i < part; ++i) {
        std::byte* const element = out + (done + i) * 2 * size;
        std::copy_n(real_parts + i * size, size, element);
        std::fill_n(element + size, size, std::byte{0});
      }
    }
  }

  const OperandPtr source_;
};

}  // namespace

Result<OperandPtr> cast(OperandPtr source, DType to) {
  const DType from = source->meta.dtype;
  if (from == to) return source;
  if (is_complex(from) && !is_complex(to))
    return fail(ErrorKind::unsupported, "a tensor of {} cannot become {}: the imaginary parts would be lost",
                name(from), name(to));
  return std::make_shared<Cast>(std::move(source), to);
}

}  // namespace assay
