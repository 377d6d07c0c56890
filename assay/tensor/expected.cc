#include "assay/tensor/expected.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

class AsWritten final : public Operand {
 public:
  AsWritten(Expected expected, OperandPtr mine)
      : Operand({expected.dtype, expected.value->meta.shape}),
        expected_(std::move(expected)),
        mine_(std::move(mine)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t size = size_of(meta.dtype);
    std::byte* const out = scratch.buffer(count * size);
    ASSAY_TRY(const Block value, expected_.value->block(first, count, scratch.below(0)));
    if (expected_.rounds())
      round(value, out);
    else
      std::memcpy(out, value.data, static_cast<size_t>(count * size));
    if (expected_.known == nullptr) return Block{meta.dtype, out, count};
    ASSAY_TRY(const Block known, expected_.known->block(first, count, scratch.below(1)));
    ASSAY_TRY(const Block mine, mine_->block(first, count, scratch.below(2)));
    for (int64_t i = 0; i < count; ++i)
      if (known.data[i] == std::byte{0}) convert(mine, i, out + i * size);
    return Block{meta.dtype, out, count};
  }

 private:
  void round(const Block& value, std::byte* out) const {
    std::vector<double> wide(static_cast<size_t>(value.count));
    to_f64(value.dtype, value.data, value.count, wide.data());
    if (!is_real(meta.dtype))
      for (double& each : wide) each = std::nearbyint(each);
    from_f64(meta.dtype, wide.data(), value.count, out);
  }

  void convert(const Block& from, int64_t i, std::byte* to) const {
    const std::byte* const at = from.data + i * size_of(from.dtype);
    if (from.dtype == meta.dtype) {
      std::memcpy(to, at, static_cast<size_t>(size_of(from.dtype)));
      return;
    }
    double wide = 0;
    to_f64(from.dtype, at, 1, &wide);
    from_f64(meta.dtype, &wide, 1, to);
  }

  const Expected expected_;
  const OperandPtr mine_;
};

}  // namespace

OperandPtr as_written(const Expected& expected, const OperandPtr& mine) {
  if (!expected.rounds() && expected.known == nullptr) return expected.value;
  return std::make_shared<const AsWritten>(expected, mine);
}

}  // namespace assay
